/** Which operations a document exposes over MCP (`x-tollgate-mcp`), and the texts with which a model chooses one. */

import type { ProblemPointer } from '../../../foundation/domain/problem.ts'
import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import type { McpPlan, OperationPlan } from '../../../boundary/plan/route-plan.ts'
import type { DeclaredOperation } from '../operations.ts'

const MCP = 'x-tollgate-mcp'
const MCP_PATH = '/mcp'
const SUMMARY_LENGTH_MAX = 200
const DESCRIPTION_LENGTH_MAX = 1_000

/** Returns the setting of the document; undefined if neither the document nor an operation has one. */
export function readMcp(
  document: Fields,
  operations: readonly DeclaredOperation[],
  faults: ProblemPointer[],
): McpPlan | undefined {
  const value = document[MCP]
  const flags = operations.map((operation) => readFlag(operation, faults))
  if (value === undefined && flags.every((flag) => flag === undefined)) return undefined
  const plan = toPlan(value, faults)
  if (plan.isOn || flags.includes(true)) findTakenPath(operations, faults)
  return plan
}

function toPlan(value: unknown, faults: ProblemPointer[]): McpPlan {
  if (value === undefined || typeof value === 'boolean') return { isOn: value ?? false }
  const fields = fieldsOf(value)
  const { mode } = fields
  const isKnown = value === fields && Object.keys(fields).every((name) => name === 'mode')
  if (isKnown && (mode === undefined || mode === 'tools' || mode === 'search')) {
    return { isOn: true, ...(mode !== undefined && { mode }) }
  }
  faults.push({
    pointer: `/${MCP}`,
    detail: 'The value must be true, false, or an object with `mode`: `tools` or `search`.',
  })
  return { isOn: false }
}

function readFlag({ fields, pointer }: DeclaredOperation, faults: ProblemPointer[]): boolean | undefined {
  const value = fields[MCP]
  if (value === undefined || typeof value === 'boolean') return value
  faults.push({ pointer: `${pointer}/${MCP}`, detail: 'The value must be true or false.' })
  return undefined
}

/** The gateway serves MCP at this path, so the operations there could not be called. */
function findTakenPath(operations: readonly DeclaredOperation[], faults: ProblemPointer[]): void {
  const taken = operations.find(({ path }) => path === MCP_PATH)
  if (taken === undefined) return
  faults.push({
    pointer: taken.pointer,
    detail: `The gateway serves MCP at ${MCP_PATH}; rename the path, or remove ${MCP}.`,
  })
}

/** Returns the flag of an operation. A value that is no flag is a fault that `readMcp` reports. */
export function readMcpFlag({ fields }: DeclaredOperation): Pick<OperationPlan, 'mcp'> {
  const value = fields[MCP]
  return typeof value === 'boolean' ? { mcp: value } : {}
}

/** Plans stay small without descriptions, so only APIs with MCP keep them. */
export function readProse(
  { fields }: DeclaredOperation,
  hasProse: boolean,
): Pick<OperationPlan, 'summary' | 'description'> {
  const { summary, description } = fields
  return {
    ...(typeof summary === 'string' && summary !== '' && { summary: shorten(summary, SUMMARY_LENGTH_MAX) }),
    ...(hasProse &&
      typeof description === 'string' &&
      description !== '' && { description: shorten(description, DESCRIPTION_LENGTH_MAX) }),
  }
}

export function shorten(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).trimEnd()}…`
}
