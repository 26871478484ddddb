/**
 * Preload that starts a process at the time `CLOCK_STARTS_AT` (RFC 3339) instead of now, or `CLOCK_OFFSET_MS` from now: `Date` is
 * shifted, timers run as usual.
 *
 * Retention and lifetimes then find the data of a fixture as young as it was when it was packed, however long ago that is.
 */

const OFFSET = 'CLOCK_OFFSET_MS'
const RealDate = Date
const startsAt = Date.parse(process.env['CLOCK_STARTS_AT'] ?? '')
// Threads that start later have the offset of the main thread, which they inherit with its environment.
const offsetMs = Number((process.env[OFFSET] ??= String(startsAt - RealDate.now())))
if (Number.isNaN(offsetMs)) throw new Error(`CLOCK_STARTS_AT takes a time, or ${OFFSET} a number`)

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: unknown[], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [target.now() + offsetMs] : args, newTarget) as Date,
  apply: (target) => new target(target.now() + offsetMs).toString(),
  get: (target, key) => (key === 'now' ? () => target.now() + offsetMs : (Reflect.get(target, key) as unknown)),
})
