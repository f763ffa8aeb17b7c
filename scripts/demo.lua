-- Neovim as a client: a thousand echoes, one file hashed, compressed, and an error that it can show.
local function check(what, truth)
    if not truth then
        io.stderr:write(what, '\n')
        vim.cmd('cquit 1')
    end
end

local path = os.getenv('ERGON_FILE')
local file = assert(io.open(path, 'rb'))
local data = file:read('*a')
file:close()

local channel = vim.fn.sockconnect('tcp', os.getenv('ERGON_ADDRESS'), { rpc = true })
for i = 1, 1000 do
    check('echo ' .. i, vim.rpcrequest(channel, 'echo', i) == i)
end
local sum = vim.rpcrequest(channel, 'hash', 'sha256', data, 'hex')
check('hash', sum == vim.fn.sha256(data))
local packed = vim.rpcrequest(channel, 'compress', data)
check('decompress', vim.rpcrequest(channel, 'decompress', packed) == data)
local fine, text = pcall(vim.rpcrequest, channel, 'no-such-method')
check('error', not fine and tostring(text):find('NO_METHOD', 1, true))

io.stdout:write(string.format('1000 echoes; %s hashed as vim\'s own sha256() does; an error reads "%s"\n', path,
    tostring(text):match('NO_METHOD.*'):gsub('\n.*', '')))
