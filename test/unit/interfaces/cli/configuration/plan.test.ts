import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findStale, readPlan, toPlan, writePlan } from '../../../../../src/interfaces/cli/configuration/plan.ts'
import type { Found } from '../../../../../src/interfaces/cli/configuration/resource.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'plan-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const asItIs = (text: string) => text
const role: Found = { kind: 'role', name: 'x', fields: {}, id: 'x', tags: ['"1"'] }
const other: Found = { ...role, name: 'y' }
const changed = (found: Found) => ({ action: 'change', found, wanted: found, differences: [] }) as const
const created = { action: 'create', wanted: { kind: 'role', name: 'new', fields: {} } } as const

describe('a plan', () => {
  const plan = toPlan('http://a', { 'a.yaml': 'x' }, [role], [created], asItIs)

  it('is read as it was written, by its owner only, and replaces a link instead of following it', () => {
    const path = join(dir, 'plan')
    writeFileSync(join(dir, 'target'), 'mine')
    symlinkSync(join(dir, 'target'), path)
    writePlan(path, plan)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readPlan(path)).toEqual(plan)
    expect(statSync(join(dir, 'target')).size).toBe(4)
  })

  it('has no values of variables in its keys', () => {
    const hide = (text: string) => text.replaceAll('x', '${SECRET}')
    expect(Object.keys(toPlan('http://a', {}, [role], [], hide).tags)).toEqual(['role ${SECRET}'])
  })

  it('is stale if a resource has changed, is gone, is new, or would change without having been read', () => {
    const changes = [created, changed(role)]
    expect(findStale(plan, [role], changes, asItIs)).toEqual([])
    expect(findStale(plan, [{ ...role, tags: ['"2"'] }], changes, asItIs)).toEqual(['role x'])
    expect(findStale(plan, [], changes, asItIs)).toEqual(['role x'])
    expect(findStale(plan, [role, { ...role, name: 'new' }], changes, asItIs)).toEqual(['role new'])
    expect(findStale(plan, [role, other], [changed(other)], asItIs)).toEqual(['role y'])
  })

  it.each([
    ['no JSON', '{'],
    ['another format', JSON.stringify({ ...plan, format: 'tollgate-plan/2' })],
    ['a list', '[]'],
    ['null', 'null'],
    ['a file that is no text', JSON.stringify({ ...plan, files: { 'a.yaml': { toString: 1 } } })],
    ['tags that are no list', JSON.stringify({ ...plan, tags: { 'role x': 'any' } })],
    ['tags that are no texts', JSON.stringify({ ...plan, tags: { 'role x': [1] } })],
  ])('is refused with %s', (_, text) => {
    writeFileSync(join(dir, 'plan'), text)
    expect(() => readPlan(join(dir, 'plan'))).toThrow(/is no plan of this version|cannot be read as a plan/)
  })
})
