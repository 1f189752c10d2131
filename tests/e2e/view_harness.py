# SPDX-License-Identifier: Apache-2.0
"""What tests of the view share."""


import harness


class ViewCase(harness.Case):
    def root(self, path, access, **more):
        return {"path": path, "access": access, **more}

    def with_roots(self, roots, **filesystem):
        return self.profile({"filesystem": {"roots": roots, **filesystem}})

    def can_read(self, path, *flags, **options):
        return self.sh(f'cat "{path}"', *flags, **options)["exit_code"] == 0

    def can_write(self, path, *flags, **options):
        return self.sh(f'echo x > "{path}"', *flags, **options)["exit_code"] == 0
