module ergon-client

go 1.19
