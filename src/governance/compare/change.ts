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

/** Every rule, by its name: how it weighs and what it says. */
export const RULES = {
  'operation.removed': ['breaking', 'The operation is gone.'],
  'operation.added': ['info', 'The operation is new.'],
  'operation.renamed': ['warning', 'The operationId has changed; limits and entitlements go by it.'],
  'parameter.removed': ['warning', 'The parameter is no longer read.'],
  'parameter.added.required': ['breaking', 'Callers do not send this parameter yet, and it is required.'],
  'parameter.made.required': ['breaking', 'The parameter could be left out, and can be no longer.'],
  'body.added.required': ['breaking', 'Callers do not send a body yet, and it is required.'],
  'body.made.required': ['breaking', 'The body could be left out, and can be no longer.'],
  'body.removed': ['warning', 'The body is no longer read.'],
  'request.mediaType.removed': ['breaking', 'Callers may send this media type, and it is taken no longer.'],
  'response.status.removed': ['breaking', 'Callers know this status as a success, and it is declared no longer.'],
  'response.mediaType.removed': ['breaking', 'Callers may rely on this media type, and it is answered no longer.'],
  'request.type': ['breaking', 'Values of this type were taken, and are no longer.'],
  'response.type': ['breaking', 'Callers may get values of a type they do not know.'],
  'request.enum.removed': ['breaking', 'A value that could be sent is taken no longer.'],
  'response.enum.added': ['warning', 'Callers may get a value they do not know.'],
  'request.property.required': ['breaking', 'The property could be left out, and can be no longer.'],
  'request.property.removed': ['warning', 'The property is no longer declared.'],
  'request.property.refused': ['breaking', 'The property could be sent, and is taken no longer.'],
  'request.closed': ['breaking', 'Properties of any name could be sent, and are taken no longer.'],
  'response.property.removed': ['breaking', 'Callers may read this property, and it is gone.'],
  'response.property.optional': ['breaking', 'Callers may rely on this property, and it may be missing.'],
  'request.bound': ['breaking', 'Values that were taken lie beyond the bound.'],
  'request.pattern': ['warning', 'Values that were taken may not match the pattern.'],
  'request.alternative.removed': ['breaking', 'One of the forms that could be sent is taken no longer.'],
  'response.alternative.added': ['warning', 'Callers may get a form they do not know.'],
  'security.narrowed': ['breaking', 'Credentials that opened the operation open it no longer.'],
} as const satisfies Readonly<Record<string, readonly [ChangeLevel, string]>>

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
