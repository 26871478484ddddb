/** Schemas that several routes share: bounds of what a caller may send, shapes of what it gets. */

export type Schema = Readonly<Record<string, unknown>>

/** 1 to 128 characters, none of them a control character. */
export const name: Schema = { type: 'string', minLength: 1, maxLength: 128, pattern: '^[^\\u0000-\\u001f\\u007f]+$' }
export const text: Schema = { type: 'string', maxLength: 256 }
export const id: Schema = { type: 'string', minLength: 1, maxLength: 128 }
export const time: Schema = { type: 'string', format: 'date-time', maxLength: 64 }
export const scopes: Schema = {
  type: 'array',
  maxItems: 200,
  uniqueItems: true,
  items: { type: 'string', minLength: 1, maxLength: 128 },
}
/** A document of up to 10 MB. */
export const base64: Schema = { type: 'string', minLength: 1, maxLength: 14_000_000 }
export const nullable = (schema: Schema): Schema => ({ ...schema, type: [schema['type'], 'null'] })

export function object(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = Object.keys(properties),
): Schema {
  return { type: 'object', additionalProperties: false, required, properties }
}

export const pageQuery = {
  limit: { type: 'integer', minimum: 1, maximum: 500, default: 50 },
  cursor: { type: 'string', minLength: 1, maxLength: 1_400 },
} as const satisfies Record<string, Schema>

export function query(properties: Readonly<Record<string, Schema>> = {}): Schema {
  return object({ ...properties, ...pageQuery }, [])
}

export function list(item: Schema): Schema {
  return object({ items: { type: 'array', items: item }, next: { type: ['string', 'null'] } })
}

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
    errors: { type: 'array', items: object({ pointer: { type: 'string' }, detail: { type: 'string' } }) },
  },
}
