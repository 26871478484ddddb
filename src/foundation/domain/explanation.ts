/**
 * Explanation of a refused call for the request log, in addition to its code. It never contains a value that the client sent, except for
 * an unknown path in a service for development.
 */

import { LIMIT_KINDS, type LimitKind } from './limit-rule.ts'
import type { ProblemPointer } from './problem.ts'

/** Stages of a call, in their order. */
export const STAGES = ['route', 'authenticate', 'authorise', 'limit', 'validate', 'forward', 'record'] as const

export type Stage = (typeof STAGES)[number]

/** A limit at the moment at which it refused a call. Numbers are calls, or resource units for a quota. */
export interface LimitState {
  readonly name: string
  readonly kind: LimitKind | 'quota'
  readonly limit: number
  /** Null if the counter could not be read at that moment. */
  readonly used: number | null
  readonly remaining: number | null
  /** `minute`, `60 s`, `Monthly`; null for concurrent calls. */
  readonly window: string | null
  /** Time at which calls are admitted again, RFC 3339; null if the end of a call reopens the limit. */
  readonly opensAt: string | null
}

export interface Explanation {
  readonly detail: string
  /** Only if the code does not determine it. */
  readonly stage?: Stage | undefined
  readonly errors?: readonly ProblemPointer[] | undefined
  readonly limit?: LimitState | undefined
}

const DETAIL_LENGTH_MAX = 300
const ERRORS_MAX = 3
/** Names as schemas declare them, and array positions. Any other segment may be data that the client used as a name. */
const PLAIN_SEGMENT = /^(?:[A-Za-z_$][\w.$-]{0,63}|\d{1,6}|)$/

/** Returns the explanation as JSON, shortened; the same explanation gives the same text. */
export function toExplanationText({ detail, stage, errors = [], limit }: Explanation): string {
  return JSON.stringify({
    detail: detail.slice(0, DETAIL_LENGTH_MAX),
    ...(stage !== undefined && { stage }),
    ...(errors.length > 0 && { errors: errors.slice(0, ERRORS_MAX).map(shorten) }),
    ...(limit !== undefined && { limit }),
  })
}

function shorten({ pointer, detail }: ProblemPointer): ProblemPointer {
  const segments = pointer.split('/').map((segment) => (PLAIN_SEGMENT.test(segment) ? segment : '*'))
  return { pointer: segments.join('/'), detail: detail.slice(0, DETAIL_LENGTH_MAX) }
}

/** Parses a stored explanation; null if it is invalid. Members with another type are left out. */
export function readExplanation(text: string): Explanation | null {
  const fields = text === '' ? null : toFields(parse(text))
  if (fields === null || typeof fields['detail'] !== 'string') return null
  const { detail, errors } = fields
  const limit = readLimit(fields['limit'])
  const stage = STAGES.find((each) => each === fields['stage'])
  return {
    detail,
    ...(stage !== undefined && { stage }),
    ...(Array.isArray(errors) && { errors: errors.flatMap(readError) }),
    ...(limit !== null && { limit }),
  }
}

function readError(value: unknown): ProblemPointer[] {
  const { pointer, detail } = toFields(value) ?? {}
  return typeof pointer === 'string' && typeof detail === 'string' ? [{ pointer, detail }] : []
}

function readLimit(value: unknown): LimitState | null {
  const { name, kind, limit, used, remaining, window, opensAt } = toFields(value) ?? {}
  const known = KINDS.find((each) => each === kind)
  if (typeof name !== 'string' || known === undefined || typeof limit !== 'number') return null
  return {
    name,
    kind: known,
    limit,
    used: typeof used === 'number' ? used : null,
    remaining: typeof remaining === 'number' ? remaining : null,
    window: typeof window === 'string' ? window : null,
    opensAt: typeof opensAt === 'string' ? opensAt : null,
  }
}

const KINDS = [...LIMIT_KINDS, 'quota'] as const

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function toFields(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : null
}
