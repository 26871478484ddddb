/**
 * Compiles the declared responses, which a sample of the backend's responses is compared with.
 *
 * Parts that a gateway cannot check (patterns that need backtracking, schemas without end) are skipped and do
 * not refuse the document: they never affect a request.
 */

import { fieldsOf, type Fields } from '../json/fields.ts'
import type { DeclaredOperation } from '../governance/operations.ts'
import { escapePointer, resolvePointer } from '../json/references.ts'
import type { ResponsePlan } from '../plan/route-plan.ts'
import { createSchemaStore } from '../schema/schema-store.ts'

export interface CompiledResponses {
  /** Each once. Without schemas where all of them are too large to be kept in every thread. */
  readonly responses: readonly ResponsePlan[]
  /** In the order of the operations: positions in `responses`. */
  readonly byOperation: readonly (readonly number[])[]
  /** Components that the schemas refer to. */
  readonly components: Readonly<Record<string, unknown>>
}

export interface ResponsesOptions {
  readonly document: Fields
  readonly dialect: '3.0' | '3.1'
  readonly operations: readonly DeclaredOperation[]
}

const REFERENCES_MAX = 16
const SCHEMAS_LENGTH_MAX = 2 * 1024 * 1024
const STATUS = /^(?:[1-5]\d\d|[1-5]XX|default)$/

export function compileResponses({ document, dialect, operations }: ResponsesOptions): CompiledResponses {
  const schemas = createSchemaStore({ document, dialect, direction: 'response', faults: [] })

  function follow(value: unknown, pointer: string): { readonly fields: Fields; readonly pointer: string } {
    let fields = fieldsOf(value)
    let at = pointer
    for (let count = 0; typeof fields['$ref'] === 'string' && count < REFERENCES_MAX; count++) {
      at = fields['$ref'].slice(1)
      fields = fieldsOf(resolvePointer(document, fields['$ref']))
    }
    return { fields, pointer: at }
  }

  function toResponse(status: string, value: unknown, start: string): ResponsePlan {
    const { fields, pointer } = follow(value, start)
    if (typeof fields['content'] !== 'object' || fields['content'] === null) return { status, content: null }
    const content = Object.entries(fieldsOf(fields['content'])).map(([mediaType, media]) => {
      const { schema } = fieldsOf(media)
      const at = `${pointer}/content/${escapePointer(mediaType)}/schema`
      const isShared = pointer !== start
      const taken = schema === undefined ? null : schemas.take(isShared ? { $ref: `#${at}` } : schema, at)
      return [(mediaType.split(';')[0] ?? '').trim().toLowerCase(), taken] as const
    })
    return { status, content: Object.fromEntries(content) }
  }

  const responses: ResponsePlan[] = []
  const positions = new Map<string, number>()

  function positionOf(response: ResponsePlan): number {
    const text = JSON.stringify(response)
    let position = positions.get(text)
    if (position === undefined) positions.set(text, (position = responses.push(response) - 1))
    return position
  }

  const byOperation = operations.map(({ fields, pointer }) =>
    Object.entries(fieldsOf(fields['responses'])).flatMap(([status, value]) => {
      const name = /^[1-5]xx$/i.test(status) ? status.toUpperCase() : status
      return STATUS.test(name) ? [positionOf(toResponse(name, value, `${pointer}/responses/${status}`))] : []
    }),
  )
  const components = schemas.components()
  if (JSON.stringify([components, responses]).length <= SCHEMAS_LENGTH_MAX) {
    return { responses, byOperation, components }
  }
  return { responses: responses.map(withoutSchemas), byOperation, components: {} }
}

function withoutSchemas({ status, content }: ResponsePlan): ResponsePlan {
  return { status, content: content && Object.fromEntries(Object.keys(content).map((mediaType) => [mediaType, null])) }
}
