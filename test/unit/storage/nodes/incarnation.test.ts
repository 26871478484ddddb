import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { claimIds, readIds, type NodeIds } from '../../../../src/storage/nodes/incarnation.ts'

const root = mkdtempSync(join(tmpdir(), 'tollgate-incarnation-'))
afterAll(() => rmSync(root, { recursive: true }))

function folder(): string {
  const dataDir = mkdtempSync(join(root, 'folder-'))
  writeFileSync(join(dataDir, 'lock'), '')
  return dataDir
}

const claim = (dataDir: string, bootId: string | null = 'boot-1', onRenewal = (_: boolean): void => {}): NodeIds =>
  claimIds({ dataDir, bootId, onRenewal })

describe('the ids of a node', () => {
  it('are random, belong to the folder, and are readable by its owner only', () => {
    const [one, other] = [folder(), folder()]
    expect(readIds(one)).toBeNull()
    const ids = claim(one)
    expect(ids).toEqual({ incarnation: ids.incarnation, lineage: ids.incarnation })
    expect(claim(one)).toMatchObject(ids)
    expect(readIds(one)).toMatchObject({ incarnation: ids.incarnation, lineage: ids.lineage })
    expect(claim(other).lineage).not.toBe(ids.lineage)
    expect(statSync(join(one, 'node.id')).mode & 0o777).toBe(0o600)
  })

  it('are renewed at another place, because the former process may go on', () => {
    const dataDir = folder()
    const first = claim(dataDir)
    const before: unknown[] = []
    const rebooted = claim(dataDir, 'boot-2', (isCopied) => before.push(readIds(dataDir)?.incarnation, isCopied))
    expect(before).toEqual([first.incarnation, false])
    expect(rebooted.lineage).toBe(first.lineage)
    const copy = folder()
    copyFileSync(join(dataDir, 'node.id'), join(copy, 'node.id'))
    const copied = claim(copy, 'boot-2', (isCopied) => before.push(isCopied))
    expect(before.at(-1)).toBe(true)
    expect(copied.lineage).toBe(first.lineage)
    expect(new Set([first, rebooted, copied].map(({ incarnation }) => incarnation)).size).toBe(3)
    for (const [path, { incarnation }] of [
      [dataDir, rebooted],
      [copy, copied],
    ] as const)
      expect(claim(path, 'boot-2')).toMatchObject({ incarnation, lineage: first.lineage })
  })

  it('are renewed by every start if the platform does not tell its boots', () => {
    const dataDir = folder()
    const first = claim(dataDir, null)
    const second = claim(dataDir, null)
    expect(second.incarnation).not.toBe(first.incarnation)
    expect(second.lineage).toBe(first.lineage)
  })

  it.each(['', 'no id\n', '../../etc/passwd\n'])('are refused if the file holds %j', (text) => {
    const dataDir = folder()
    writeFileSync(join(dataDir, 'node.id'), text)
    expect(() => claim(dataDir)).toThrow(/node\.id is damaged; remove it/)
    expect(readFileSync(join(dataDir, 'node.id'), 'utf8')).toBe(text)
  })
})
