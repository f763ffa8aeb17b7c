-- Neovim as it is: its own channel, over TCP or a Unix socket.  What it saw goes to standard output as JSON.
local channel = vim.fn.sockconnect(os.getenv('ERGON_MODE'), os.getenv('ERGON_ADDRESS'), { rpc = true })
local wrong = {}

local function expect(what, seen, wanted)
    if not vim.deep_equal(seen, wanted) then
        table.insert(wrong, what .. ': ' .. vim.inspect(seen) .. ' instead of ' .. vim.inspect(wanted))
    end
end

local function request(...)
    return vim.rpcrequest(channel, ...)
end

local function error_of(...)
    local fine, text = pcall(vim.rpcrequest, channel, ...)
    expect('failure', fine, false)
    return tostring(text)
end

for i = 1, 1000 do
    expect('echo ' .. i, request('echo', i), i)
end
local values = { true, false, 1.5, -7, 2 ^ 40, 'käse', string.rep('x', 300), string.rep('y', 70000), {}, { 1, { 2, 3 } },
    { a = { b = 'c' } }, 'zero\0inside' }
for _, value in ipairs(values) do
    expect('echo', request('echo', value), value)
end
expect('nil', request('echo', vim.NIL), vim.NIL)
expect('nothing', request('echo'), vim.NIL)
expect('several', request('echo', 1, 'two'), { 1, 'two' })
expect('sum', request('sum', 1, 2, 3), 6)
expect('hash', request('hash', 'sha256', 'abc', 'hex'), vim.fn.sha256('abc'))
expect('bytes', request('decompress', request('compress', string.rep('abc', 1000))), string.rep('abc', 1000))
expect('parked', request('sleep', '10ms') >= 9, true)
expect('blocked', request('block', '10ms') >= 9, true)

-- Errors are shown as text: that of the server, not "unknown error".
local errors = { error_of('no.such.method'), error_of('fail', 'NO_SPACE', 'the disk is full'), error_of('sum', 'three') }

-- Notifications, known or not, have no answer and disturb nothing.
vim.rpcnotify(channel, 'echo', 1)
vim.rpcnotify(channel, 'no.such.method')
expect('after notifications', request('echo', 'still here'), 'still here')

-- The other shape of errors that Neovim knows how to show.
request('server.hello', { errors = 'pair' })
table.insert(errors, error_of('fail', 'NO_SPACE', 'the disk is full'))

io.stdout:write(vim.fn.json_encode({ wrong = wrong, errors = errors }))
