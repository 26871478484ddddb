import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readIncarnation } from '../../../src/nodes/incarnation.ts'

const root = mkdtempSync(join(tmpdir(), 'tollgate-incarnation-'))
afterAll(() => rmSync(root, { recursive: true }))

describe('the incarnation of a node', () => {
  it('is random, belongs to the folder, and is readable by its owner only', () => {
    const [one = '', other = ''] = ['one-', 'other-'].map((name) => mkdtempSync(join(root, name)))
    const id = readIncarnation(one)
    expect(readIncarnation(one)).toBe(id)
    expect(readIncarnation(other)).not.toBe(id)
    expect(statSync(join(one, 'node.id')).mode & 0o777).toBe(0o600)
  })

  it.each(['', 'no id\n', '../../etc/passwd\n'])('is refused if the file holds %j', (text) => {
    const folder = mkdtempSync(join(root, 'damaged-'))
    writeFileSync(join(folder, 'node.id'), text)
    expect(() => readIncarnation(folder)).toThrow(/node\.id is damaged; remove it/)
    expect(readFileSync(join(folder, 'node.id'), 'utf8')).toBe(text)
  })
})
