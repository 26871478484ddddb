import { describe, expect, it } from 'vitest'
import { isExposed, isMcpOn } from '../../../../src/boundary/plan/mcp-exposure.ts'
import type { OperationPlan } from '../../../../src/boundary/plan/route-plan.ts'

const at = (path: string, mcp?: boolean) => ({ path, ...(mcp !== undefined && { mcp }) }) as OperationPlan

describe('the exposure of an API over MCP', () => {
  it.each([
    ['nothing', {}, {}, false],
    ['the document', { mcp: { isOn: true } }, {}, true],
    ['the policy', { isMcpOn: true as const }, {}, true],
    ['the policy, against the document', { isMcpOn: true as const, mcp: { isOn: false } }, {}, true],
    ['the operation', { mcp: { isOn: false } }, { mcp: true }, true],
    ['the operation, against the document', { mcp: { isOn: true } }, { mcp: false }, false],
  ])('is decided by %s', (_, plan, operation, expected) => {
    expect(isExposed(plan, operation)).toBe(expected)
  })

  it('needs at least one exposed operation', () => {
    expect(isMcpOn({ mcp: { isOn: true }, operations: [at('/a', false)] })).toBe(false)
    expect(isMcpOn({ mcp: { isOn: true }, operations: [at('/a', false), at('/b')] })).toBe(true)
  })

  it('is refused if the document declares the path and the policy exposes it', () => {
    const operations = [at('/mcp')]
    expect(() => isMcpOn({ isMcpOn: true, operations })).toThrow('MCP cannot be served for this API.')
    expect(isMcpOn({ mcp: { isOn: true }, operations })).toBe(false)
  })
})
