//go:build !linux

package ergontest

import "syscall"

func withUs() *syscall.SysProcAttr { return nil }
