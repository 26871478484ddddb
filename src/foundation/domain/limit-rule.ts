/** The declared numbers of a limit, one shape per kind. `value` is in calls; 0 switches the property off for the calls that it matches. */

export type TotalWindow = 'period' | 'minute' | 'hour' | 'day' | 'week' | 'month'

export interface RateRule {
  readonly kind: 'rate'
  readonly value: number
  readonly spanMs: number
}

export interface TotalRule {
  readonly kind: 'total'
  readonly value: number
  readonly window: TotalWindow
}

export interface ConcurrentRule {
  readonly kind: 'concurrent'
  readonly value: number
}

interface RuleByKind {
  readonly rate: RateRule
  readonly total: TotalRule
  readonly concurrent: ConcurrentRule
}

export type LimitKind = keyof RuleByKind
export type RuleOf<K extends LimitKind> = RuleByKind[K]
export type LimitRule = RuleOf<LimitKind>

/** The load that a rule admits at an instant. */
export interface Load {
  readonly concurrency: number
  readonly callsPerSecond: number
}

interface Traits<K extends LimitKind> {
  /** The window as the API shows it: the span of a rate (`60 s`), the window of a total; null for concurrent calls. */
  windowName(rule: RuleOf<K>): string | null
  load(rule: RuleOf<K>): Load
}

/** A kind of limit does not compile until its window and its load are given. */
const TRAITS: { readonly [K in LimitKind]: Traits<K> } = {
  rate: {
    windowName: ({ spanMs }) => `${spanMs / 1_000} s`,
    load: ({ value, spanMs }) => ({ concurrency: 0, callsPerSecond: (value * 1_000) / spanMs }),
  },
  // A total bounds no load at an instant.
  total: { windowName: ({ window }) => window, load: () => ({ concurrency: 0, callsPerSecond: 0 }) },
  concurrent: { windowName: () => null, load: ({ value }) => ({ concurrency: value, callsPerSecond: 0 }) },
}

/** The API shows these names, and checkpoints store them. */
export const LIMIT_KINDS = Object.keys(TRAITS) as readonly LimitKind[]

export const windowNameOf = (rule: LimitRule): string | null => traitsOf(rule).windowName(rule)
export const loadOf = (rule: LimitRule): Load => traitsOf(rule).load(rule)

/** The traits of its own kind, which the type of a lookup cannot express. */
function traitsOf({ kind }: LimitRule): Traits<LimitKind> {
  return TRAITS[kind] as Traits<LimitKind>
}
