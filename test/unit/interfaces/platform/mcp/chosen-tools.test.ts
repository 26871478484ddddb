import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CHOSEN_TOOLS } from '../../../../../src/interfaces/platform/mcp/chosen-tools.ts'
import { ALL_OPERATIONS } from '../../../../../src/interfaces/platform/operations.ts'

const names = Object.keys(CHOSEN_TOOLS)

describe('the chosen tools of the platform', () => {
  it('stand for one operation each, which needs a credential', () => {
    const ids = Object.values(CHOSEN_TOOLS).map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => (ALL_OPERATIONS[id]?.scope ?? null) === null)).toEqual([])
  })

  it('have names that every client accepts', () => {
    expect(names.filter((name) => !/^[a-z_]{1,48}$/.test(name))).toEqual([])
  })

  it('are listed in the documentation', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../../../docs/mcp.md'), 'utf8')
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  })
})
