/** Differences between two versions of a document, with their effect on existing clients. */

export type ChangeLevel = 'breaking' | 'warning' | 'info'

export interface Change {
  /** Stable name of the rule. */
  readonly id: string
  readonly level: ChangeLevel
  /** RFC 6901 pointer: into the earlier document for what was removed, else into the later one. */
  readonly pointer: string
  readonly message: string
}

/** Every rule by id: level, message, and an example for the documentation. */
export const RULES = {
  'operation.removed': ['breaking', 'The operation was removed.', '`GET /cards` is removed'],
  'operation.added': ['info', 'The operation was added.', '`POST /cards` is added'],
  'operation.renamed': [
    'warning',
    'The operationId changed; limits and entitlements that name it no longer apply.',
    '`operationId: list` becomes `listCards`',
  ],
  'parameter.removed': ['warning', 'The parameter was removed; the API ignores it.', '`?page` is removed'],
  'parameter.added.required': [
    'breaking',
    'A required parameter was added, which existing clients do not send.',
    '`?region` is added with `required: true`',
  ],
  'parameter.made.required': ['breaking', 'The optional parameter became required.', '`?region` gets `required: true`'],
  'body.added.required': [
    'breaking',
    'A required request body was added, which existing clients do not send.',
    '`POST` gets a `requestBody` with `required: true`',
  ],
  'body.made.required': [
    'breaking',
    'The optional request body became required.',
    '`requestBody` gets `required: true`',
  ],
  'body.removed': ['warning', 'The request body was removed; the API ignores it.', '`requestBody` is removed'],
  'request.mediaType.removed': [
    'breaking',
    'A media type of the request body was removed, which clients may send.',
    '`application/xml` is removed from a request body',
  ],
  'response.status.removed': [
    'breaking',
    'A success status was removed, which clients may rely on.',
    '`201` is removed',
  ],
  'response.mediaType.removed': [
    'breaking',
    'A media type of the response was removed, which clients may rely on.',
    '`text/csv` is removed from a response',
  ],
  'request.type': ['breaking', 'The request no longer accepts values of a type.', '`number` becomes `integer`'],
  'response.type': ['breaking', 'The response may contain values of a new type.', '`string` becomes `[string, null]`'],
  'request.enum.removed': [
    'breaking',
    'The request no longer accepts a value of the enum.',
    '`[EUR, USD]` becomes `[EUR]`',
  ],
  'response.enum.added': [
    'warning',
    'The response may contain a new value of the enum.',
    '`[open]` becomes `[open, held]`',
  ],
  'request.property.required': [
    'breaking',
    'The optional request property became required.',
    '`required: []` becomes `[name]`',
  ],
  'request.property.removed': ['warning', 'The request property is no longer declared.', '`nickname` is removed'],
  'request.property.refused': [
    'breaking',
    'The request property was removed, and the API rejects it.',
    '`nickname` is removed from a schema with `additionalProperties: false`',
  ],
  'request.closed': [
    'breaking',
    'The request no longer accepts undeclared properties.',
    '`additionalProperties: false` is added',
  ],
  'response.property.removed': [
    'breaking',
    'A response property was removed, which clients may read.',
    '`total` is removed',
  ],
  'response.property.optional': [
    'breaking',
    'A response property may now be missing, which clients may rely on.',
    '`required: [total]` becomes `[]`',
  ],
  'request.bound': [
    'breaking',
    'A bound in the request became stricter, so some valid values became invalid.',
    '`maxLength: 64` becomes `32`',
  ],
  'request.pattern': [
    'warning',
    'The pattern in the request changed, so some valid values may become invalid.',
    '`pattern` is added',
  ],
  'request.alternative.removed': [
    'breaking',
    'The request no longer accepts one of its alternatives.',
    '`oneOf` of three becomes two',
  ],
  'response.alternative.added': ['warning', 'The response has a new alternative.', '`oneOf` of two becomes three'],
  'operation.sunset': [
    'info',
    'The operation was removed on or after its sunset date.',
    'an operation with `deprecated: true` and `x-sunset: 2025-01-01` is removed',
  ],
  'operation.deprecated': ['info', 'The operation became deprecated.', '`deprecated: true` is added'],
  'response.header.removed': [
    'breaking',
    'A response header was removed, which clients may read.',
    '`ETag` is removed from a response',
  ],
  'request.format': [
    'warning',
    'The format in the request changed, so some valid values may become invalid.',
    '`format: uuid` is added',
  ],
  'response.format': [
    'warning',
    'The response may contain values of a new format.',
    '`format: date-time` becomes `date`',
  ],
  'request.default': ['warning', 'The default of an optional value changed.', '`default: 50` becomes `20`'],
  'discriminator.changed': [
    'breaking',
    'The discriminator between the alternatives changed.',
    '`propertyName: kind` becomes `type`',
  ],
  'security.narrowed': [
    'breaking',
    'The operation no longer accepts credentials that it accepted before.',
    '`[cards:read]` becomes `[cards:read, cards:write]`',
  ],
} as const satisfies Readonly<Record<string, readonly [level: ChangeLevel, message: string, example: string]>>

export type RuleId = keyof typeof RULES

/** Records a change; `detail` identifies it if the pointer alone does not. */
export type Report = (id: RuleId, pointer: string, detail?: string) => void

export function createReport(): { readonly report: Report; readonly changes: () => readonly Change[] } {
  const found = new Map<string, Change>()
  const order: Readonly<Record<ChangeLevel, number>> = { breaking: 0, warning: 1, info: 2 }

  return {
    report(id, pointer, detail = '') {
      const [level, text] = RULES[id]
      const message = detail === '' ? text : `${text} (${detail.slice(0, 128)})`
      found.set(`${id} ${pointer} ${detail}`, { id, level, pointer, message })
    },
    changes: () =>
      [...found.values()].sort(
        (a, b) => order[a.level] - order[b.level] || compareTexts(a.pointer, b.pointer) || compareTexts(a.id, b.id),
      ),
  }
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
