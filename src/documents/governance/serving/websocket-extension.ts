/** Reads `x-tollgate-websocket`: whether an operation is a WebSocket (RFC 6455), and the size of its messages. */

import type { ProblemPointer } from '../../../foundation/domain/problem.ts'
import type { OperationPlan } from '../../../boundary/plan/route-plan.ts'
import type { DeclaredOperation } from '../operations.ts'
import { readBytesMax } from './compile-parameters.ts'

const WEBSOCKET = 'x-tollgate-websocket'
const MAX_BODY = 'x-tollgate-max-body-bytes'
const MCP = 'x-tollgate-mcp'
const MESSAGE_BYTES_MAX = 16 * 1024 * 1024

export function isWebSocket({ fields }: DeclaredOperation): boolean {
  return fields[WEBSOCKET] === true
}

/** Returns the plan of an operation that is a WebSocket; nothing for the others. */
export function readWebSocket(
  operation: DeclaredOperation,
  faults: ProblemPointer[],
): Pick<OperationPlan, 'webSocket'> {
  const { fields, pointer } = operation
  const value = fields[WEBSOCKET]
  if (value === undefined || value === false) return {}
  const fault = faultIn(operation)
  if (fault !== null) {
    faults.push({ pointer: `${pointer}/${WEBSOCKET}`, detail: fault })
    return {}
  }
  const declared = fields[MAX_BODY]
  const messageBytesMax = declared === undefined ? MESSAGE_BYTES_MAX : readBytesMax(declared, pointer, faults)
  return { webSocket: { messageBytesMax } }
}

function faultIn({ fields, method }: DeclaredOperation): string | null {
  if (fields[WEBSOCKET] !== true) return 'The value must be true or false.'
  if (method !== 'GET') return 'Only a GET operation can be a WebSocket.'
  if (fields['requestBody'] !== undefined) return 'A WebSocket has no request body.'
  return fields[MCP] === true ? `A WebSocket cannot be a tool; remove ${MCP}.` : null
}
