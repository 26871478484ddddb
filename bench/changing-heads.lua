-- Requests of which no two have the same headers.

local sequence = 0

function request()
  sequence = sequence + 1
  wrk.headers["X-Number"] = sequence
  return wrk.format()
end
