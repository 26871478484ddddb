/** Which operations of a plan are exposed over MCP: those with a flag of their own, or all if the document or the policy says so. */

import { Problem } from '../../foundation/domain/problem.ts'
import type { OperationPlan, RoutePlan } from './route-plan.ts'

/** The path of the MCP endpoint of an API. */
export const MCP_PATH = '/mcp'

type Exposure = Pick<RoutePlan, 'isMcpOn' | 'mcp'>

/** A WebSocket is no tool. */
export function isExposed(plan: Exposure, { mcp, webSocket }: Pick<OperationPlan, 'mcp' | 'webSocket'>): boolean {
  if (webSocket !== undefined) return false
  return mcp ?? (plan.isMcpOn === true || plan.mcp?.isOn === true)
}

/**
 * Whether the API has an MCP endpoint. A document that an earlier version accepted keeps its own operations at the path.
 * Throws `Problem('specification_invalid')` if the policy exposes an API whose document declares the path.
 */
export function isMcpOn(plan: Exposure & Pick<RoutePlan, 'operations'>): boolean {
  const { operations } = plan
  if (!operations.some((operation) => isExposed(plan, operation))) return false
  if (!operations.some(({ path }) => path === MCP_PATH)) return true
  if (plan.isMcpOn !== true) return false
  const detail = `The document declares ${MCP_PATH}, where the gateway serves MCP because the policy of the API has \`mcp\`.`
  throw new Problem('specification_invalid', 'MCP cannot be served for this API.', {
    errors: [{ pointer: '/paths/~1mcp', detail }],
  })
}
