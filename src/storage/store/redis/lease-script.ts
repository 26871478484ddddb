/**
 * The grantor of leases as a script of Redis: the same function as `boundary/leases/grantor.ts`, which a test compares it with.
 *
 * The script reads clock and run id of the server itself, so that no client can be wrong about them. It takes the message as JSON and
 * returns whole numbers. State is packed by `cmsgpack`, which stores doubles exactly; cjson rounds them to 14 digits, so nothing is
 * encoded with it. Keys expire when their state equals that of a missing key.
 *
 * The generation names the version of the protocol, and every version reads its key: a script of another version grants nothing, so
 * that two versions never grant from two budgets.
 */

import { OBSERVED_MS_MAX, WINDOW_MS_MAX } from '../../../boundary/leases/grantor.ts'
import type { LeaseTimings } from '../../../boundary/leases/lease-timings.ts'

/** Version of the protocol, the script and what it stores. */
const PROTOCOL = 1
/** Keys of the counters. */
const LEASE_KEYS = `tollgate:leases:${PROTOCOL}:`
/** The same in all versions. */
const GENERATION_KEY = 'tollgate:leases:generation'

/** Lua expressions; tests replace them by keys that they set. */
export interface ScriptSources {
  /** A table of seconds and microseconds. */
  readonly time: string
  readonly runId: string
}

const SERVER_SOURCES: ScriptSources = {
  time: `redis.call('TIME')`,
  runId: `string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')`,
}

export function leaseScript(timings: LeaseTimings, sources: ScriptSources = SERVER_SOURCES): string {
  return `
local PROTOCOL, PREFIX, GENERATION = ${PROTOCOL}, '${LEASE_KEYS}', '${GENERATION_KEY}'
local LEASE_MS, MARGIN_MS = ${timings.leaseMs}, ${timings.marginMs}
local WINDOW_MARGIN_MS, KEEP_MS = ${timings.windowMarginMs}, ${timings.keepMs}
local SILENT_MS, OBSERVED_MS_MAX = ${timings.silentMs ?? 'math.huge'}, ${OBSERVED_MS_MAX}
local WINDOW_MS_MAX = ${WINDOW_MS_MAX}
local time = ${sources.time}
local micros = tonumber(time[2])
local floor_ms = tonumber(time[1]) * 1000 + math.floor(micros / 1000)
local ceil_ms = floor_ms
if micros % 1000 > 0 then ceil_ms = ceil_ms + 1 end
local run_id = ${sources.runId}
${GENERATION}
${ITEMS}
${MAIN}
`
}

const GENERATION = `
local function load(key)
  local packed = redis.call('GET', key)
  return packed and cmsgpack.unpack(packed) or nil
end

local function save_generation(generation)
  redis.call('SET', GENERATION, cmsgpack.pack(generation))
end

local function generation_reply(generation, is_opener)
  local epoch, confirmations = 0, 0
  if generation then epoch, confirmations = generation.epoch, generation.confirmations end
  return { 'generation', floor_ms, run_id, epoch, confirmations, is_opener and 1 or 0 }
end

-- A script of an earlier version notes no times.
local function silence_of(name, current)
  local observed_ms = current and current.observedMs or 0
  local last = current and current.nodes[name]
  if last then return last.heardMs and observed_ms - last.heardMs or 0 end
  local before_ms = current and tonumber(current.waiting[name])
  return before_ms and before_ms + observed_ms or 0
end

local function open(current, message)
  local is_late = ceil_ms > message.notAfterMs or (current and message.epoch <= current.epoch)
  if message.runId ~= run_id or is_late then return generation_reply(current, false) end
  local is_first = message.isFirst and not current
  local waiting, ended, count = {}, {}, 0
  if not is_first then
    local function wait_for(name)
      local silent_ms = silence_of(name, current)
      if silent_ms >= SILENT_MS then return end
      if not waiting[name] then count = count + 1 end
      waiting[name] = silent_ms
      local ended_ms = message.ended and message.ended[name]
      -- A node that this server has heard may run on after it was removed.
      if ended_ms and not current then ended[name] = ceil_ms - ended_ms end
    end
    for _, name in ipairs(message.members) do wait_for(name) end
    for name in pairs(current and current.nodes or {}) do wait_for(name) end
    for name in pairs(current and current.waiting or {}) do wait_for(name) end
  end
  local generation = { protocol = PROTOCOL, epoch = message.epoch, runId = run_id, startMs = ceil_ms,
    isFirst = is_first, waiting = waiting, ended = ended, readyMs = count == 0 and ceil_ms or 0, confirmations = 0,
    lastMs = ceil_ms, observedMs = 0, nodes = {} }
  save_generation(generation)
  return generation_reply(generation, true)
end
`

const ITEMS = `
-- A script of an earlier version notes no times.
local function newest(known, budget)
  local is_known = known and known.version > budget.version and floor_ms - (known.versionMs or 0) < KEEP_MS
  if is_known then return known, known.versionMs end
  return budget, floor_ms
end

-- A script of an earlier version notes no ends.
local function unknown_until(generation)
  local until_ms = -math.huge
  for name in pairs(generation.waiting) do
    until_ms = math.max(until_ms, generation.ended and generation.ended[name] or generation.startMs)
  end
  return until_ms
end

-- 1: open, 0: open soon, below: minus the time until then.
local function closed_for(latest_ms, generation)
  if floor_ms < generation.startMs + LEASE_MS then return 0 end
  return -math.max(1, latest_ms - floor_ms)
end

local function share(item, free, nodes)
  local least = item.least or 1
  local most = math.min(item.want, free, math.max(least, math.floor(free / (2 * nodes))))
  return most < least and 0 or most
end

local function sum_held(leases)
  local sum, count = 0, 0
  for _, lease in pairs(leases) do sum = sum + lease.held; count = count + 1 end
  return sum, count
end

local function grant_total(known, item, context)
  local budget = item.budget
  if floor_ms >= budget.endMs then return nil, { 0, 0, 0 } end
  local limit, version_ms = newest(known, budget)
  local claims = known and known.claims or {}
  local reported = item.used + item.held
  if not context.is_replay then claims[context.node] = reported end
  local sum, count = 0, 0
  for _, claim in pairs(claims) do sum = sum + claim; count = count + 1 end
  local free = math.max(0, limit.value - sum)
  local is_unknown = context.generation.readyMs == 0
    and budget.startMs <= unknown_until(context.generation) + WINDOW_MARGIN_MS
  local is_open = floor_ms >= budget.startMs and not is_unknown
  local opens = is_open and 1 or is_unknown and closed_for(budget.endMs, context.generation) or 0
  if context.is_replay then
    return nil, { math.max(0, (claims[context.node] or 0) - reported), free, opens }
  end
  local granted = is_open and share(item, free, count) or 0
  claims[context.node] = reported + granted
  local state = { epoch = context.generation.epoch, version = limit.version, versionMs = version_ms,
    value = limit.value, claims = claims }
  -- The window is reported once more if a clock is set back.
  local keep_ms = budget.endMs - floor_ms + WINDOW_MARGIN_MS
  return state, { granted, is_open and free - granted or 0, opens }, keep_ms
end

local function drain(from, limit, version_ms)
  local level = from.level
  if from.step ~= limit.step then level = math.ceil(level / from.step * limit.step) end
  if floor_ms > from.sinceMs then level = math.max(0, level - (floor_ms - from.sinceMs) * limit.leak) end
  local leases = {}
  for node, lease in pairs(from.leases) do
    if lease.untilMs <= floor_ms then level = level + lease.held * limit.step else leases[node] = lease end
  end
  return { epoch = from.epoch, version = limit.version, versionMs = version_ms, step = limit.step, leak = limit.leak,
    capacity = limit.capacity, level = level, sinceMs = math.max(from.sinceMs, floor_ms), leases = leases }
end

local function grant_rate(known, item, context)
  local generation, budget, node = context.generation, item.budget, context.node
  local began_ms = generation.startMs + LEASE_MS + MARGIN_MS
  if generation.readyMs > 0 and generation.readyMs < began_ms then began_ms = generation.readyMs end
  if floor_ms < began_ms then return nil, { 0, 0, 0 } end
  local limit, version_ms = newest(known, budget)
  local from = known or { epoch = generation.epoch, step = budget.step,
    level = generation.isFirst and 0 or budget.capacity, sinceMs = began_ms, leases = {} }
  local state = drain(from, limit, version_ms)
  local own = state.leases[node] or { held = 0, used = item.used, session = context.session, untilMs = 0 }
  if not context.is_replay then
    local reported = own.held
    if own.session == context.session then reported = math.max(0, item.used - own.used) end
    local spent = math.min(own.held, reported)
    state.level = state.level + spent * limit.step
    state.sinceMs = math.max(state.sinceMs, ceil_ms)
    state.leases[node] = { held = math.min(item.held, own.held - spent), used = item.used, session = context.session,
      untilMs = floor_ms + LEASE_MS + MARGIN_MS }
  end
  local leased, count = sum_held(state.leases)
  local free = math.max(0, math.floor((limit.capacity - state.level) / limit.step) - leased)
  if context.is_replay then return nil, { own.held - item.held, free, 1 } end
  local granted = share(item, free, count)
  local lease = state.leases[node]
  lease.held = lease.held + granted
  -- A number that is not finite would make the whole request fail, with the leases of everybody else in it.
  local full_ms = limit.leak > 0 and math.ceil((limit.capacity + state.level) / limit.leak) or 0
  local keep_ms = LEASE_MS + MARGIN_MS + full_ms + WINDOW_MARGIN_MS
  return state, { lease.held - item.held, free - granted, 1 }, keep_ms
end

local function grant_slots(known, item, context)
  local budget, generation, node = item.budget, context.generation, context.node
  local limit, version_ms = newest(known, budget)
  local lasting_ms = LEASE_MS + MARGIN_MS + budget.callMsMax
  local leases, keep_ms = {}, lasting_ms
  for name, lease in pairs(known and known.leases or {}) do
    if lease.untilMs > floor_ms then
      leases[name] = lease
      keep_ms = math.max(keep_ms, lease.untilMs - floor_ms)
    end
  end
  if not context.is_replay then leases[node] = { held = item.held, untilMs = floor_ms + lasting_ms } end
  local leased, count = sum_held(leases)
  local unused = limit.value - leased
  local free = math.max(0, unused)
  local known_ms = unknown_until(generation) + lasting_ms
  local is_open = generation.readyMs > 0 or floor_ms >= known_ms
  local opens = is_open and 1 or closed_for(known_ms, generation)
  local state = { epoch = generation.epoch, version = limit.version, versionMs = version_ms,
    value = limit.value, leases = leases }
  keep_ms = keep_ms + WINDOW_MARGIN_MS
  if unused < 0 then return state, { -math.min(item.held, -unused), free, opens }, keep_ms end
  if context.is_replay then
    local held = leases[node] and leases[node].held or 0
    return state, { math.max(0, held - item.held), free, opens }, keep_ms
  end
  local granted = is_open and share(item, free, count) or 0
  leases[node].held = leases[node].held + granted
  return state, { granted, is_open and free - granted or 0, opens }, keep_ms
end

local GRANT = { total = grant_total, rate = grant_rate, concurrent = grant_slots }
`

const MAIN = `
local function execute(generation, message)
  if floor_ms < message.notBeforeMs or ceil_ms > message.notAfterMs then return { 'clock', floor_ms } end
  local last = generation.nodes[message.node] or { session = 0, sequence = 0 }
  local is_same_session = message.session == last.session
  if message.session < last.session or (is_same_session and message.sequence < last.sequence) then
    return { 'stale', floor_ms }
  end
  local context = { node = message.node, session = message.session, generation = generation,
    is_replay = is_same_session and message.sequence == last.sequence }
  local reply = { 'granted', floor_ms }
  for _, item in ipairs(message.items) do
    local name = item.budget.kind .. ':' .. item.key
    if item.budget.kind == 'total' then name = name .. ' ' .. string.format('%.0f', item.budget.startMs) end
    local known = load(PREFIX .. name)
    if known and known.epoch ~= generation.epoch then known = nil end
    local state, grant, keep_ms = GRANT[item.budget.kind](known, item, context)
    if state and not context.is_replay then
      redis.call('SET', PREFIX .. name, cmsgpack.pack(state), 'PX', string.format('%.0f', keep_ms))
    end
    for _, number in ipairs(grant) do reply[#reply + 1] = number end
  end
  local passed_ms = floor_ms - (generation.lastMs or floor_ms)
  generation.observedMs = (generation.observedMs or 0) + math.max(0, math.min(OBSERVED_MS_MAX, passed_ms))
  generation.lastMs = floor_ms
  local heard = { session = message.session, sequence = message.sequence, heardMs = generation.observedMs }
  if message.isLast then heard = nil end
  generation.nodes[message.node] = heard
  generation.confirmations = generation.confirmations + 1
  if message.isSynced then
    generation.waiting[message.node] = nil
    if generation.readyMs == 0 and next(generation.waiting) == nil then generation.readyMs = ceil_ms end
  end
  save_generation(generation)
  if floor_ms < unknown_until(generation) + WINDOW_MS_MAX + 2 * WINDOW_MARGIN_MS then
    for name in pairs(generation.waiting) do reply[#reply + 1] = name end
  end
  return reply
end

local message = cjson.decode(ARGV[1])
local current = load(GENERATION)
if current and current.runId ~= run_id then current = nil end
if current and current.protocol ~= PROTOCOL then
  return redis.error_reply('VERSION leases are granted by another version of tollgate')
end
if message.type == 'open' then return open(current, message) end
if message.type == 'request' and current and current.epoch == message.epoch then return execute(current, message) end
return generation_reply(current, false)
`
