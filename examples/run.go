// SPDX-License-Identifier: Apache-2.0

// run declares the C ABI by hand: what cgo needs, and no header.
//
//	CGO_LDFLAGS="-lsbx" go run run.go 'echo hello'
package main

/*
#include <stdlib.h>
typedef struct sbx_session sbx_session;
typedef struct sbx_error sbx_error;
int sbx_open(const char *options, sbx_session **session, sbx_error **error);
int sbx_call(sbx_session *session, const char *method, const char *params, char **result,
             sbx_error **error);
void sbx_close(sbx_session *session);
void sbx_free(char *text);
const char *sbx_error_code(const sbx_error *error);
const char *sbx_error_message(const sbx_error *error);
void sbx_error_free(sbx_error *error);
*/
import "C"

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"unsafe"
)

func take(failure *C.sbx_error) error {
	defer C.sbx_error_free(failure)
	return errors.New(C.GoString(C.sbx_error_code(failure)) + ": " +
		C.GoString(C.sbx_error_message(failure)))
}

func run(command string) (map[string]any, error) {
	params, err := json.Marshal(map[string]any{"command": command})
	if err != nil {
		return nil, err
	}
	method, text := C.CString("run"), C.CString(string(params))
	defer C.free(unsafe.Pointer(method))
	defer C.free(unsafe.Pointer(text))
	var session *C.sbx_session
	var failure *C.sbx_error
	var answer *C.char
	if C.sbx_open(nil, &session, &failure) != 0 {
		return nil, take(failure)
	}
	defer C.sbx_close(session)
	if C.sbx_call(session, method, text, &answer, &failure) != 0 {
		return nil, take(failure)
	}
	defer C.sbx_free(answer)
	var result map[string]any
	return result, json.Unmarshal([]byte(C.GoString(answer)), &result)
}

func main() {
	result, err := run(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(result["stdout"])
}
