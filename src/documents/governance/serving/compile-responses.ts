/**
 * Compiles the declared responses. The gateway compares a sample of the backend's responses with them.
 *
 * Unlike in requests, parts that the gateway cannot check (patterns that need backtracking, endless schemas) are skipped
 * instead of rejecting the document, because they never affect a call.
 */

import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import type { DeclaredOperation } from '../operations.ts'
import { escapePointer, resolvePointer } from '../../../foundation/json/references.ts'
import type { ResponsePlan } from '../../../boundary/plan/route-plan.ts'
import { createSchemaStore } from '../../../boundary/schema/schema-store.ts'

export interface CompiledResponses {
  /** Without duplicates, and without schemas if these are too large for the memory of every thread. */
  readonly responses: readonly ResponsePlan[]
  /** For each operation, the positions of its responses in `responses`. */
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
      const plan = schema === undefined ? null : schemas.convert(isShared ? { $ref: `#${at}` } : schema, at)
      return [(mediaType.split(';')[0] ?? '').trim().toLowerCase(), plan] as const
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
