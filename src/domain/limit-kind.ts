/** The kinds of limits on calls. The API shows these names, and checkpoints store them. */
export const LIMIT_KINDS = ['rate', 'total', 'concurrent'] as const

export type LimitKind = (typeof LIMIT_KINDS)[number]
