/** The kinds of limit of calls, by the names under which the API shows them and checkpoints hold them. */
export const LIMIT_KINDS = ['rate', 'total', 'concurrent'] as const

export type LimitKind = (typeof LIMIT_KINDS)[number]
