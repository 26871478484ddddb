import { describe, expect, it } from 'vitest'
import { mappedRoles } from '../../../../../src/control/access/people/role-mapping.ts'

const mapping = (claim: string, value: string, role: string, consumers?: string[]) => ({
  ...{ claim, value, role },
  ...(consumers && { consumers }),
})

describe('a mapping', () => {
  it.each<[string, unknown, boolean]>([
    ['the text', 'staff', true],
    ['a list with the text', ['other', 'staff'], true],
    ['another text', 'staffing', false],
    ['a text with the value as a part', 'other staff', false],
    ['another case', 'Staff', false],
    ['a list of lists', [['staff']], false],
    ['an object', { staff: true }, false],
    ['nothing', undefined, false],
    ['null', null, false],
  ])('applies to %s only if it is equal', (_, groups, applies) => {
    const roles = mappedRoles([mapping('groups', 'staff', 'auditor')], { groups })
    expect(roles).toEqual(applies ? [{ role: 'auditor' }] : [])
  })

  it('compares numbers and truth values by their text', () => {
    const mappings = [mapping('level', '7', 'auditor'), mapping('isAdmin', 'true', 'admin')]
    expect(mappedRoles(mappings, { level: 7, isAdmin: true }).map(({ role }) => role)).toEqual(['admin', 'auditor'])
    expect(mappedRoles(mappings, { level: 70, isAdmin: false })).toEqual([])
  })

  it('reads no member that objects inherit', () => {
    const mappings = [
      mapping('constructor', 'function Object() { [native code] }', 'owner'),
      mapping('__proto__', '', 'owner'),
    ]
    expect(mappedRoles(mappings, {})).toEqual([])
  })

  it('adds its consumers to those of the other mappings of its role', () => {
    const mappings = [
      mapping('groups', 'a', 'consumer', ['con_2', 'con_1']),
      mapping('groups', 'b', 'consumer', ['con_1', 'con_3']),
      mapping('groups', 'c', 'consumer', ['con_4']),
    ]
    const expected = [{ role: 'consumer', consumers: ['con_1', 'con_2', 'con_3'] }]
    expect(mappedRoles(mappings, { groups: ['b', 'a'] })).toEqual(expected)
  })
})
