/** Media types of a body: names in lower case without parameters, and the ranges that cover them. */

import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import { escapePointer } from '../../../foundation/json/references.ts'
import type { Placed } from './schema-comparison.ts'

export type Media = ReadonlyMap<string, Placed>

/** Schemas of a `content` object by media type. */
function mediaOf({ content }: Fields, pointer: string): Media {
  return new Map(
    Object.entries(fieldsOf(content)).map(([name, media]) => [
      typeOf(name),
      { schema: fieldsOf(media)['schema'], pointer: `${pointer}/content/${escapePointer(name)}/schema` },
    ]),
  )
}

/** Returns the entry that holds for a media type, as the gateway chooses: the type itself, its range, any. */
export function entryFor(media: Media, mediaType: string): Placed | undefined {
  return media.get(mediaType) ?? media.get(`${mediaType.slice(0, mediaType.indexOf('/'))}/*`) ?? media.get('*/*')
}

/** Ranges that include one of the media types. */
export function rangesOf(media: Media): ReadonlySet<string> {
  return new Set([...media.keys()].flatMap((name) => [`${name.slice(0, name.indexOf('/'))}/*`, '*/*']))
}

/** Whether bodies of a media type, or of some type in a range, are JSON, which the gateway compares with the schema. */
export function isJson(mediaType: string): boolean {
  return /^(?:application|text)\/json$|\+json$|\/\*$/.test(mediaType)
}

/** Whether the gateway validates request bodies of a media type. It only limits the size of others, such as those of several parts. */
export function isValidated(mediaType: string): boolean {
  return isJson(mediaType) || mediaType === 'application/x-www-form-urlencoded'
}

/** The bodies of a request by media type. The gateway accepts any body in place of a binary one. */
export function requestMediaOf(body: Fields, pointer: string): Media {
  return withoutBinary(mediaOf(body, pointer), () => true)
}

/** The bodies of a response by media type. A binary body of a type that is not JSON may be anything. */
export function responseMediaOf(response: Fields, pointer: string): Media {
  return withoutBinary(mediaOf(response, pointer), (mediaType) => !isJson(mediaType))
}

function withoutBinary(media: Media, mayBeBinary: (mediaType: string) => boolean): Media {
  const entries = [...media].map(([name, placed]) => {
    const { type, format } = fieldsOf(placed.schema)
    const isBinary = type === 'string' && format === 'binary' && mayBeBinary(name)
    return [name, isBinary ? { ...placed, schema: undefined } : placed] as const
  })
  return new Map(entries)
}

/** How a value is written: by a style, as JSON text, or in another media type. */
export type ValueKind = 'text' | 'json' | 'other'

/** The schema of a parameter or a header: of its one media type if it has `content`, whose values are not read from text. */
export function valueOf(fields: Fields, pointer: string): Placed & { readonly kind: ValueKind } {
  const [content] = Object.entries(fieldsOf(fields['content']))
  if (content === undefined) return { schema: fields['schema'], pointer: `${pointer}/schema`, kind: 'text' }
  const [mediaType, media] = content
  const at = `${pointer}/content/${escapePointer(mediaType)}/schema`
  return { schema: fieldsOf(media)['schema'], pointer: at, kind: isJson(typeOf(mediaType)) ? 'json' : 'other' }
}

/** The type in lower case without parameters. */
export function typeOf(mediaType: string): string {
  return (mediaType.split(';')[0] ?? '').trim().toLowerCase()
}
