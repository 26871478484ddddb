/** Schemas that several operations share, and functions that build schemas. */

import type { NullableSchema, ObjectSchema, Schema } from './schema-type.ts'

/** No control characters, no lone surrogates. */
const PLAIN = '^[^\\p{Cc}\\p{Cs}]*$'

/** 1 to 128 characters, not all of them blank. */
export const name = {
  type: 'string',
  minLength: 1,
  maxLength: 128,
  pattern: '^[\\p{Zs}\\u2028\\u2029\\ufeff]*[^\\s\\p{Cc}\\p{Cs}][^\\p{Cc}\\p{Cs}]*$',
} as const satisfies Schema
/** Text of several lines. */
export const prose = {
  type: 'string',
  minLength: 1,
  maxLength: 20_000,
  pattern: '^(?:[\\n\\r\\t]|[^\\p{Cc}\\p{Cs}])*$',
} as const satisfies Schema
/** The SHA-256 hash of a client certificate in DER (RFC 8705, 3.1). */
export const thumbprint = {
  type: 'string',
  minLength: 43,
  maxLength: 43,
  pattern: '^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$',
} as const satisfies Schema
/** Free text of one line. */
export const line = { type: 'string', minLength: 1, maxLength: 256, pattern: PLAIN } as const satisfies Schema
/** Id or name of another resource. */
export const reference = { type: 'string', minLength: 1, maxLength: 256, pattern: PLAIN } as const satisfies Schema
export const text = { type: 'string' } as const satisfies Schema
export const id = { type: 'string' } as const satisfies Schema
export const time = { type: 'string', format: 'date-time' } as const satisfies Schema
/** A time in a request. */
export const instant = { ...time, maxLength: 64 } as const satisfies Schema
export const scopeNames = { type: 'array', items: { type: 'string' } } as const satisfies Schema
/** Scopes as RFC 6749, appendix A.4, spells them. */
export const scopes = {
  type: 'array',
  maxItems: 200,
  uniqueItems: true,
  items: { type: 'string', minLength: 1, maxLength: 128, pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$' },
} as const satisfies Schema
/** A document of up to 16 MiB. */
export const base64 = {
  type: 'string',
  minLength: 1,
  maxLength: 22_369_624,
  contentEncoding: 'base64',
} as const satisfies Schema
/** Maximum size of a body with one such document. */
export const DOCUMENT_BODY_BYTES_MAX = 23 * 1024 * 1024
export const backendUrl = {
  type: 'string',
  minLength: 1,
  maxLength: 2_048,
  description:
    'An http or https URL with any port. Only the operator may set an address that is private or leads back to this service; ' +
    'other tenants get 400.',
} as const satisfies Schema
/** No body, or an empty object. */
export const NO_BODY = { type: ['object', 'null'], additionalProperties: false } as const satisfies Schema

export const nullable = <const Of extends Schema>(schema: Of): NullableSchema<Of> =>
  ({ ...schema, type: [schema['type'], 'null'] }) as unknown as NullableSchema<Of>

/** A schema that is a component of the OpenAPI document. */
export const named = <const Of extends Schema>(title: string, schema: Of): Of & { readonly title: string } => ({
  title,
  ...schema,
})

/** A closed object; without `required` every member is mandatory. */
export function object<
  const Properties extends Readonly<Record<string, Schema>>,
  const Required extends readonly (keyof Properties & string)[] = readonly (keyof Properties & string)[],
>(properties: Properties, required?: Required): ObjectSchema<Properties, Required> {
  const names = required ?? Object.keys(properties)
  return { type: 'object', additionalProperties: false, required: names as Required, properties }
}

const LABEL_KEY = '[a-z0-9][a-z0-9._/-]{0,62}'
/** Labels of a resource; a key is never the name of a member of `Object.prototype`. */
export const labels = {
  type: 'object',
  maxProperties: 32,
  propertyNames: { type: 'string', pattern: `^${LABEL_KEY}$`, not: { const: 'constructor' } },
  additionalProperties: { type: 'string', maxLength: 128, pattern: PLAIN },
  description: 'Up to 32 labels. A change replaces all of them.',
} as const satisfies Schema
const labelFilter = {
  type: 'array',
  maxItems: 8,
  items: { type: 'string', maxLength: 192, pattern: `^${LABEL_KEY}:[^\\p{Cc}\\p{Cs}]{0,128}$` },
  description: '`key:value`. May be repeated; an item must have all of these labels.',
} as const satisfies Schema

export const PAGE_LIMIT_MAX = 500
export const PAGE_LIMIT_DEFAULT = 50

const pageQuery = {
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: PAGE_LIMIT_MAX,
    default: PAGE_LIMIT_DEFAULT,
    description: 'Maximum number of items in the page.',
  },
  cursor: { type: 'string', minLength: 1, maxLength: 5_500, description: 'The `next` of the previous page.' },
} as const satisfies Record<string, Schema>

export function pagedQuery<const Properties extends Readonly<Record<string, Schema>> = {}>(
  properties: Properties = {} as Properties,
) {
  return object({ ...properties, ...pageQuery }, [])
}

/** The query of a list of resources, which have labels. */
export function labelledQuery<const Properties extends Readonly<Record<string, Schema>> = {}>(
  properties: Properties = {} as Properties,
) {
  return object({ ...properties, label: labelFilter, ...pageQuery }, [])
}

/** The query of a removal. */
export const eraseQuery = object(
  {
    erase: {
      type: 'boolean',
      default: false,
      description:
        'Replaces the names by the id in usage, the request log, risks and the audit log, within minutes of the answer. ' +
        'Amounts stay. Also for what was removed earlier.',
    },
  },
  [],
)

/** A filter under its former name, which is still accepted. */
export function formerly<const Of extends Schema>(name: string, schema: Of): Of {
  return { ...schema, deprecated: true, description: `Former name of \`${name}\`.` }
}

/** A list in one page, as the answer of an action. */
export function whole(item: Schema, maxItems: number): Schema {
  return object({ items: { type: 'array', maxItems, items: item }, next: { type: ['string', 'null'] } })
}

export function list<const Item extends Schema>(item: Item) {
  return object({ items: { type: 'array', items: item }, next: { type: ['string', 'null'] } } as const)
}

/** An error or a warning about a request; for a document, with its position in the text. */
export const finding = named(
  'Finding',
  object(
    {
      pointer: { type: 'string', description: 'RFC 6901' },
      detail: { type: 'string' },
      line: { type: 'integer', description: 'From 1.' },
      column: { type: 'integer', description: 'From 1.' },
    },
    ['pointer', 'detail'],
  ),
)

export const problemSchema: Schema = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'requestId'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string' },
    requestId: { type: 'string' },
    errors: { type: 'array', items: finding },
  },
}

export const servedRevision = {
  type: 'integer',
  description: 'Revision of the API. 0: recorded by an earlier version, or a call of the platform API.',
} as const

export const revisionFilter = { type: 'integer', minimum: 0, maximum: 2_147_483_647 } as const

export const channel = {
  type: 'string',
  enum: ['http', 'mcp'],
  description: '`mcp` for a tool call over the Model Context Protocol.',
} as const
