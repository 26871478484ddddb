/** The rule of an API for pages of other origins (CORS), as a form edits it. */

import type { Answer } from '../../api/operations.ts'

export type CorsRule = Answer<'/v1/apis/:name/policy'>['cors']
type Cors = NonNullable<CorsRule>

/** Null leaves the rule to the document. An empty list of origins allows none. */
export type CorsMode = 'document' | 'listed' | 'all'

const NO_ORIGIN: Cors = { origins: [] }

/** Reads JSON that a person may have typed, without the members that no rule has. */
export function readCors(value: unknown): CorsRule {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  const { origins, headers, exposeHeaders, credentials, maxAge } = value as Readonly<Record<string, unknown>>
  return {
    origins: origins === '*' ? '*' : toTexts(origins),
    ...(Array.isArray(headers) && { headers: toTexts(headers) }),
    ...(Array.isArray(exposeHeaders) && { exposeHeaders: toTexts(exposeHeaders) }),
    ...(typeof credentials === 'boolean' && { credentials }),
    ...(typeof maxAge === 'number' && { maxAge }),
  }
}

function toTexts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

export function modeOf(cors: CorsRule): CorsMode {
  if (cors === null) return 'document'
  return cors.origins === '*' ? 'all' : 'listed'
}

/** Keeps the members that the new mode has as well. */
export function withMode(cors: CorsRule, mode: CorsMode): CorsRule {
  if (mode === 'document') return null
  const { credentials, ...rest } = cors ?? NO_ORIGIN
  // All origins may call without cookies only.
  if (mode === 'all') return { ...rest, origins: '*' }
  const origins = originsOf(cors)
  return { ...rest, ...(credentials !== undefined && { credentials }), origins }
}

export function originsOf(cors: CorsRule): readonly string[] {
  return Array.isArray(cors?.origins) ? cors.origins : []
}

/** Leaves out an empty list, so that the default applies. */
export function withNames(cors: Cors, member: 'headers' | 'exposeHeaders', names: readonly string[]): Cors {
  const { [member]: _, ...rest } = cors
  return names.length === 0 ? rest : { ...rest, [member]: names }
}

export function withMaxAge(cors: Cors, seconds: string): Cors {
  const { maxAge: _, ...rest } = cors
  return seconds.trim() === '' ? rest : { ...rest, maxAge: Number(seconds) }
}

/** The entries of a field with one in each line; commas and spaces divide them as well. */
export function toEntries(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((each) => each !== '')
}
