-- Calls at a steady pace: each connection waits PAUSE_MS between calls. In TOKEN every `{n}` is another
-- number at each call, so that no two tokens are alike.

local token = os.getenv("TOKEN")
local pause = tonumber(os.getenv("PAUSE_MS"))
local before, behind = token:match("^(.-){n}(.*)$")
local sequence = 0

-- The first call of each connection comes at a time of its own, so that they do not come in bursts.
local connections = tonumber(os.getenv("CONNECTIONS"))
local begun = 0
function delay()
  begun = begun + 1
  return begun <= connections and begun * pause / connections or pause
end

function request()
  local text = token
  if before then
    sequence = sequence + 1
    text = before .. string.format("%012d", sequence) .. behind
  end
  return wrk.format("GET", nil, { ["Authorization"] = "Bearer " .. text })
end
