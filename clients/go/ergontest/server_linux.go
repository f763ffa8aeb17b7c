package ergontest

import "syscall"

// withUs has a server end when the test's process dies, however it does.
func withUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
