/** What differs between two versions of a document, and what that means for those who use it. */

export type ChangeLevel = 'breaking' | 'warning' | 'info'

export interface Change {
  /** Stable name of the rule. */
  readonly id: string
  readonly level: ChangeLevel
  /** RFC 6901 pointer: into the earlier document for what was removed, else into the later one. */
  readonly pointer: string
  readonly message: string
}

/** Every rule, by its name: how it weighs, what it says, and what it is for. */
export const RULES = {
  'operation.removed': ['breaking', 'The operation is gone.', '`GET /cards` is left out'],
  'operation.added': ['info', 'The operation is new.', '`POST /cards` is declared'],
  'operation.renamed': [
    'warning',
    'The operationId has changed; limits and entitlements go by it.',
    '`operationId: list` becomes `listCards`',
  ],
  'parameter.removed': ['warning', 'The parameter is no longer read.', '`?page` is left out'],
  'parameter.added.required': [
    'breaking',
    'Callers do not send this parameter yet, and it is required.',
    '`?region` is new, with `required: true`',
  ],
  'parameter.made.required': [
    'breaking',
    'The parameter could be left out, and can be no longer.',
    '`?region` gets `required: true`',
  ],
  'body.added.required': [
    'breaking',
    'Callers do not send a body yet, and it is required.',
    '`POST` gets a `requestBody` with `required: true`',
  ],
  'body.made.required': [
    'breaking',
    'The body could be left out, and can be no longer.',
    '`requestBody` gets `required: true`',
  ],
  'body.removed': ['warning', 'The body is no longer read.', '`requestBody` is left out'],
  'request.mediaType.removed': [
    'breaking',
    'Callers may send this media type, and it is taken no longer.',
    '`application/xml` is left out of a body',
  ],
  'response.status.removed': [
    'breaking',
    'Callers know this status as a success, and it is declared no longer.',
    '`201` is left out',
  ],
  'response.mediaType.removed': [
    'breaking',
    'Callers may rely on this media type, and it is answered no longer.',
    '`text/csv` is left out of an answer',
  ],
  'request.type': ['breaking', 'Values of this type were taken, and are no longer.', '`number` becomes `integer`'],
  'response.type': [
    'breaking',
    'Callers may get values of a type they do not know.',
    '`string` becomes `[string, null]`',
  ],
  'request.enum.removed': [
    'breaking',
    'A value that could be sent is taken no longer.',
    '`[EUR, USD]` becomes `[EUR]`',
  ],
  'response.enum.added': ['warning', 'Callers may get a value they do not know.', '`[open]` becomes `[open, held]`'],
  'request.property.required': [
    'breaking',
    'The property could be left out, and can be no longer.',
    '`required: []` becomes `[name]`',
  ],
  'request.property.removed': ['warning', 'The property is no longer declared.', '`nickname` is left out'],
  'request.property.refused': [
    'breaking',
    'The property could be sent, and is taken no longer.',
    '`nickname` is left out where `additionalProperties: false`',
  ],
  'request.closed': [
    'breaking',
    'Properties of any name could be sent, and are taken no longer.',
    '`additionalProperties: false` is new',
  ],
  'response.property.removed': ['breaking', 'Callers may read this property, and it is gone.', '`total` is left out'],
  'response.property.optional': [
    'breaking',
    'Callers may rely on this property, and it may be missing.',
    '`required: [total]` becomes `[]`',
  ],
  'request.bound': ['breaking', 'Values that were taken lie beyond the bound.', '`maxLength: 64` becomes `32`'],
  'request.pattern': ['warning', 'Values that were taken may not match the pattern.', '`pattern` is new'],
  'request.alternative.removed': [
    'breaking',
    'One of the forms that could be sent is taken no longer.',
    '`oneOf` of three becomes two',
  ],
  'response.alternative.added': ['warning', 'Callers may get a form they do not know.', '`oneOf` of two becomes three'],
  'operation.sunset': [
    'info',
    'The operation is gone; its sunset has come.',
    'an operation with `deprecated: true` and `x-sunset: 2025-01-01` is left out',
  ],
  'operation.deprecated': ['info', 'The operation is deprecated.', '`deprecated: true` is new'],
  'response.header.removed': [
    'breaking',
    'Callers may read this header, and it is declared no longer.',
    '`ETag` is left out of an answer',
  ],
  'request.format': ['warning', 'Values that were taken may not be of the format.', '`format: uuid` is new'],
  'response.format': [
    'warning',
    'Callers may get values that are not of the format they know.',
    '`format: date-time` becomes `date`',
  ],
  'request.default': ['warning', 'What is meant where nothing is sent has changed.', '`default: 50` becomes `20`'],
  'discriminator.changed': [
    'breaking',
    'What tells the forms apart has changed.',
    '`propertyName: kind` becomes `type`',
  ],
  'security.narrowed': [
    'breaking',
    'Credentials that opened the operation open it no longer.',
    '`[cards:read]` becomes `[cards:read, cards:write]`',
  ],
} as const satisfies Readonly<Record<string, readonly [level: ChangeLevel, message: string, example: string]>>

export type RuleId = keyof typeof RULES

/** Notes a change; `detail` says which one where the place alone does not. */
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
