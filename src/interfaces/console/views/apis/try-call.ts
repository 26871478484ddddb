/** The call that a person makes from the fields of a form: as a request of the console's server, and as a line for curl. */

import type { TryInput } from '../../../console-server/try-request.ts'
import type { ApiOperation } from './document.ts'

export type TryCall = TryInput

export interface TryValues {
  /** By place and name: `query limit`. */
  readonly parameters: Readonly<Record<string, string>>
  readonly mediaType: string
  readonly body: string
}

/** Fields that are empty are left out. */
export function toTryCall(
  api: string,
  { method, path, parameters, body }: ApiOperation,
  { parameters: values, mediaType, body: text }: TryValues,
): TryCall {
  const given = (place: string): readonly (readonly [string, string])[] =>
    parameters.flatMap(({ name, place: of }) => {
      const value = values[`${place} ${name}`] ?? ''
      return of === place && value !== '' ? [[name, value] as const] : []
    })
  const ofPath = new Map(given('path'))
  const filled = path.replace(/\{([^{}]+)\}/g, (_, name: string) => encodeURIComponent(ofPath.get(name) ?? ''))
  const hasBody = body !== null && text !== '' && method !== 'GET' && method !== 'HEAD'
  const headers = given('header').filter(([name]) => name.toLowerCase() !== 'content-type')
  return {
    ...{ api, method, path: filled, query: given('query') },
    headers: hasBody ? [...headers, ['Content-Type', mediaType]] : headers,
    body: hasBody ? text : null,
  }
}

/** `credential`: the header of an API key, as text; default: that of a token, from the variable `TOKEN`. */
export function toCurl(
  { api, method, path, query, headers, body }: TryCall,
  gatewayUrl: string,
  credential?: string,
): string {
  const search = query.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')
  const parts = ['curl', `-H ${credential === undefined ? `'authorization: Bearer '"$TOKEN"` : quote(credential)}`]
  if (method === 'HEAD') parts.push('--head')
  else if (method !== 'GET') parts.push(`-X ${method}`)
  for (const [name, value] of headers) parts.push(`-H ${quote(`${name}: ${value}`)}`)
  if (body !== null) parts.push(`--data-raw ${quote(body)}`)
  return [...parts, quote(`${gatewayUrl}/${api}${path}${search === '' ? '' : `?${search}`}`)].join(' ')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
