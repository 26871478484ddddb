/**
 * The tools of the platform, compiled from its own OpenAPI document by the code that also serves the tools of deployed APIs.
 *
 * Public operations and streams without an end are no tools. A member of a body that contains a document in base64 is plain text
 * for a model, which cannot encode reliably; it is encoded before the call.
 */

import { compileServing } from '../../../documents/governance/serving/compile-route-plan.ts'
import { readOperations } from '../../../documents/governance/operations.ts'
import { PLATFORM_API } from '../../../foundation/domain/platform-api.ts'
import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import { SEARCH_DEFINITIONS, type NamedOperation } from '../../../boundary/mcp/search.ts'
import { isWritable } from '../../../boundary/mcp/tool-arguments.ts'
import { toTool, type Tool } from '../../../boundary/mcp/tool.ts'
import type { DocumentPlan, OperationPlan } from '../../../boundary/plan/route-plan.ts'
import { documentMembers } from '../document-bodies.ts'
import type { Operation, Operations } from '../operation.ts'
import { CHOSEN_TOOLS } from './chosen-tools.ts'

export interface PlatformTool extends NamedOperation {
  readonly operation: OperationPlan
  readonly declaration: Operation
  readonly tool: Tool
  /** The definition for `tools/list`. */
  readonly definition: Fields
  /** Another operation changes what this one reads, if `If-Match` is its ETag. */
  readonly isChangeable: boolean
  /** Members of the body that are documents. */
  readonly documents: readonly string[]
}

export interface PlatformTools {
  /** Operations that are tools of their own. */
  readonly chosen: ReadonlyMap<string, PlatformTool>
  /** All operations that can be called over MCP, by operationId. */
  readonly all: ReadonlyMap<string, PlatformTool>
}

export const SEARCH_TOOLS: readonly Fields[] = SEARCH_DEFINITIONS.map((definition) => ({ ...definition }))

const AS_TEXT = { type: 'string', minLength: 1, description: 'The document as text, in YAML or JSON.' }

/** `document` is the OpenAPI document of the operations. */
export function compilePlatformTools(operations: Operations, document: Buffer): PlatformTools {
  const plan = compilePlan(document)
  const plans = new Map(plan.operations.map((operation) => [operation.operationId, operation]))
  const changeable = new Set(Object.values(operations).map(({ changes }) => changes))
  const compile = (name: string, operationId: string, prose: Partial<OperationPlan> = {}): PlatformTool[] => {
    const [declaration, operation] = [operations[operationId], plans.get(operationId)]
    if (declaration === undefined || operation === undefined) throw new Error(`${operationId} is no operation`)
    if (!isOffered(declaration) || !isWritable(operation, acceptsHeader)) return []
    const tool = toPlatformTool(name, { ...operation, ...prose }, declaration, plan)
    return [{ ...tool, isChangeable: changeable.has(operationId) }]
  }
  const chosen = Object.entries(CHOSEN_TOOLS).flatMap(([name, { operationId, title, description }]) =>
    compile(name, operationId, { summary: title, description }),
  )
  const all = Object.keys(operations).flatMap((operationId) => compile(operationId, operationId))
  return { chosen: byName(chosen), all: byName(all) }
}

/** The ETag of the answer, and therefore a conditional read, is of no use to a model. */
function acceptsHeader(name: string): boolean {
  return name.toLowerCase() !== 'if-none-match'
}

function isOffered({ scope, endless }: Operation): boolean {
  return scope !== null && endless !== true
}

function compilePlan(bytes: Buffer): DocumentPlan {
  const parsed: unknown = JSON.parse(bytes.toString(), (_, value: unknown) =>
    fieldsOf(value)['contentEncoding'] === 'base64' ? AS_TEXT : value,
  )
  // Plans have descriptions only for documents with this member.
  const document = { ...fieldsOf(parsed), 'x-tollgate-mcp': true }
  const operations = readOperations(document, [])
  return compileServing({ document, dialect: '3.1', technicalName: PLATFORM_API, operations }, null)
}

function toPlatformTool(
  name: string,
  operation: OperationPlan,
  declaration: Operation,
  plan: DocumentPlan,
): Omit<PlatformTool, 'isChangeable'> {
  const tool = toTool(name, operation, plan, acceptsHeader)
  const definition = fieldsOf(JSON.parse(tool.text))
  return { name, operation, declaration, tool, definition, documents: [...documentMembers(declaration).keys()] }
}

function byName(tools: readonly PlatformTool[]): ReadonlyMap<string, PlatformTool> {
  return new Map(tools.map((tool) => [tool.name, tool]))
}
