/**
 * A slow and simple reference implementation of limits: it stores every admitted call, computes every window from the calendar, and
 * counts rates in unbounded integers.
 */

export interface ReferenceDefinition {
  readonly name: string
  readonly operationIds?: readonly string[]
  readonly validity?: readonly { readonly name: string; readonly start: string; readonly end: string }[]
  readonly totals?: Readonly<Record<string, number>>
  readonly rate?: { readonly value: number; readonly duration: string }
  readonly concurrent?: number
}

export interface ReferencePlan {
  readonly limits: readonly ReferenceDefinition[]
  readonly quotas?: { readonly period: string; readonly resourceUnits: number }
  readonly resourceUnits: { readonly operations: Readonly<Record<string, number>> }
}

export interface ReferenceCall {
  readonly timeMs: number
  readonly period: string
  units: number
  isRunning: boolean
  /** Definitions and properties in which the call counts. */
  readonly counted: readonly string[]
}

const SPANS_MS: Readonly<Record<string, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
}

export function createReferenceLimiter({ limits, quotas, resourceUnits }: ReferencePlan) {
  const admitted: ReferenceCall[] = []

  /** Returns the admitted call, or what refuses it: `name property` of limits, or `quota`. */
  function take(operation: string, timeMs: number): ReferenceCall | readonly string[] {
    const applying = ['rate', 'concurrent', 'period', 'minute', 'hour', 'day', 'week', 'month'].flatMap((property) => {
      const definition = limits.find((each) => names(each, property) && matches(each, operation, timeMs))
      return definition === undefined || valueOf(definition, property) === 0 ? [] : [{ definition, property }]
    })
    const refusing = applying.filter(({ definition, property }) => !hasRoom(definition, property, timeMs))
    if (refusing.length > 0) return refusing.map(({ definition, property }) => `${definition.name} ${property}`)
    const units = resourceUnits.operations[operation] ?? 1
    const period = periodOf(quotas?.period ?? 'Daily', timeMs)
    const used = admitted.reduce((sum, call) => sum + (call.period === period ? call.units : 0), 0)
    if (quotas !== undefined && used + units > quotas.resourceUnits) return ['quota']
    const counted = applying.map(({ definition, property }) => `${definition.name} ${property}`)
    const call = { timeMs, period, units, isRunning: true, counted }
    admitted.push(call)
    return call
  }

  function hasRoom(definition: ReferenceDefinition, property: string, timeMs: number): boolean {
    const value = valueOf(definition, property)
    const calls = admitted.filter(({ counted }) => counted.includes(`${definition.name} ${property}`))
    if (property === 'concurrent') return calls.filter(({ isRunning }) => isRunning).length < value
    if (property === 'rate') return isEarned(calls, definition.rate?.duration ?? '', value, timeMs)
    const window = windowOf(definition, property, timeMs)
    return calls.filter((call) => windowOf(definition, property, call.timeMs) === window).length < value
  }

  /** Removes a call that was not answered before its process ended. */
  function remove(call: ReferenceCall): void {
    admitted.splice(admitted.indexOf(call), 1)
  }

  return { take, remove }
}

/** GCRA by theoretical arrival times, in ms × value. */
function isEarned(calls: readonly ReferenceCall[], duration: string, value: number, timeMs: number): boolean {
  const [span, perSpan] = [BigInt(SPANS_MS[duration] ?? 0), BigInt(value)]
  let arrival = 0n
  for (const call of calls) {
    const now = BigInt(call.timeMs) * perSpan
    arrival = (arrival > now ? arrival : now) + span
  }
  return BigInt(timeMs) * perSpan >= arrival - (perSpan - 1n) * span
}

function names(definition: ReferenceDefinition, property: string): boolean {
  if (property === 'rate') return definition.rate !== undefined
  if (property === 'concurrent') return definition.concurrent !== undefined
  return definition.totals?.[property] !== undefined
}

function valueOf(definition: ReferenceDefinition, property: string): number {
  if (property === 'rate') return definition.rate?.value ?? 0
  return (property === 'concurrent' ? definition.concurrent : definition.totals?.[property]) ?? 0
}

function matches(definition: ReferenceDefinition, operation: string, timeMs: number): boolean {
  if (definition.operationIds !== undefined && !definition.operationIds.includes(operation)) return false
  return definition.validity === undefined || spanStart(definition, timeMs) !== null
}

/** Returns the start of the span that contains `timeMs`; it may have started yesterday. Spans do not touch here. */
function spanStart({ validity = [] }: ReferenceDefinition, timeMs: number): number | null {
  for (const { start, end } of validity) {
    for (const dayMs of [timeMs - 86_400_000, timeMs]) {
      const day = new Date(dayMs).toISOString().slice(0, 10)
      const from = Date.parse(`${day}T${start}Z`)
      const to = Date.parse(`${day}T${end}Z`)
      if (timeMs >= from && timeMs < (to > from ? to : to + 86_400_000)) return from
    }
  }
  return null
}

function windowOf(definition: ReferenceDefinition, property: string, timeMs: number): string {
  const text = new Date(timeMs).toISOString()
  if (property === 'period') return String(spanStart(definition, timeMs))
  if (property === 'minute') return text.slice(0, 16)
  if (property === 'hour') return text.slice(0, 13)
  if (property === 'day') return text.slice(0, 10)
  if (property === 'month') return text.slice(0, 7)
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`)
  while (day.getUTCDay() !== 1) day.setUTCDate(day.getUTCDate() - 1)
  return day.toISOString()
}

function periodOf(period: string, timeMs: number): string {
  const text = new Date(timeMs).toISOString()
  if (period === 'Daily') return text.slice(0, 10)
  if (period === 'Monthly') return text.slice(0, 7)
  if (period === 'Annual') return text.slice(0, 4)
  return `${text.slice(0, 4)} ${Math.floor(new Date(timeMs).getUTCMonth() / 3)}`
}
