# SPDX-License-Identifier: Apache-2.0
"""No other protocol than a WebSocket is offered to an origin, and to none does it change unasked: what
follows would be judged and searched by nobody."""

import base64
import hashlib
import unittest

from http_hostile_test import BEARER, Hostile
from http_test import HOST

KEY = "dGhlIHNhbXBsZSBub25jZQ=="


def accepted(key):
    """RFC 6455, 4.2.2"""
    return base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())


class Upgrades(Hostile):
    def test_no_protocol_but_a_websocket_is_offered(self):
        self.inside("""
ask("/x", "Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings, close",
    "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA")
""", *self.rules(({"host": HOST},)))
        (seen,) = self.seen()
        self.assertEqual({"upgrade", "http2-settings"} & set(seen["headers"]), set(), seen)
        self.assertEqual(seen["headers"]["connection"].lower(), "close")

    def test_an_origin_changes_to_one_only_as_it_was_asked_to(self):
        head = (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Accept: ")
        self.canned("right", head + accepted(KEY) + b"\r\n\r\n")
        self.canned("wrong", head + accepted("another") + b"\r\n\r\n")
        self.canned("packed", head + accepted(KEY) + b"\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n")
        answer = self.inside(f"""
key = ("Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: {KEY}", "Authorization: Bearer " + TOKEN)
asked = ("Upgrade: websocket", "Connection: Upgrade", *key)
for name, lines, method in (("right", asked, "GET"), ("wrong", asked, "GET"), ("packed", asked, "GET"),
                            ("right", key, "GET"), ("right", asked, "DELETE")):
    with connected() as s:
        s.sendall(request("/canned/" + name, *lines, method=method))
        print(s.recv(4096).split()[1].decode())
""", *self.rules(credentials=(BEARER,)))
        self.assertEqual(answer["stdout"].split(), ["101", "502", "502", "502", "502"], answer)


if __name__ == "__main__":
    unittest.main()
