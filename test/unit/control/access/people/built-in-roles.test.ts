import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { builtInRoles, LISTED_SCOPES } from '../../../../../src/control/access/people/built-in-roles.ts'
import { platformScopes } from '../../../../../src/interfaces/platform/operations.ts'

const SCOPES = platformScopes()
const rolesOf = (isOperator: boolean) => builtInRoles(SCOPES, isOperator)
const scopesOf = (name: string, isOperator = true) => rolesOf(isOperator).get(name)?.scopes ?? []

/** The rows of the table of roles in the documentation. */
function documentedRoles(): ReadonlyMap<string, string> {
  const page = readFileSync(join(import.meta.dirname, '../../../../../docs/people.md'), 'utf8')
  const table = page.slice(page.indexOf('| Role |')).split('\n\n', 1)[0] ?? ''
  const rows = table.split('\n').slice(2)
  return new Map(
    rows.map((row) => row.split('|').map((cell) => cell.trim())).map(([, role = '', text = '']) => [role, text]),
  )
}

describe('the built-in roles', () => {
  it('are those of the table in the documentation', () => {
    const rows = documentedRoles()
    expect([...rows.keys()]).toEqual([...rolesOf(true).keys()].map((name) => `\`${name}\``))
    for (const [name, scopes] of Object.entries(LISTED_SCOPES)) {
      expect(rows.get(`\`${name}\``)).toBe(scopes.map((scope) => `\`${scope}\``).join(', '))
    }
    for (const name of ['owner', 'admin', 'auditor', 'consumer']) {
      const rule = /every scope[^,;.]*/.exec(rolesOf(true).get(name)?.description ?? '')?.[0] ?? 'none'
      expect(rows.get(`\`${name}\``)).toContain(rule)
    }
  })

  it('have only scopes of the platform, and the scope of the operator only in its tenant', () => {
    for (const { scopes } of rolesOf(true).values()) for (const scope of scopes) expect(SCOPES).toContain(scope)
    for (const { scopes } of rolesOf(false).values()) expect(scopes).not.toContain('platform:admin')
    expect(scopesOf('owner')).toEqual(SCOPES)
    expect(SCOPES.filter((scope) => !scopesOf('admin').includes(scope))).toEqual(['platform:admin', 'roles:write'])
  })

  it('let an auditor read the whole tenant, change nothing and see no secret', () => {
    const scopes = scopesOf('auditor')
    expect(scopes).toEqual(SCOPES.filter((scope) => scope.split(':')[1] === 'read' && !scope.endsWith(':own')))
    expect(scopes).not.toContain('credentials:reveal')
    expect(scopesOf('consumer')).toEqual(SCOPES.filter((scope) => scope.endsWith(':own')))
  })
})
