import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { describe, expect, it } from 'vitest'
import { cleanRanges, releasePages } from '../../../../src/foundation/runtime/release-pages.ts'

const canRelease = process.platform === 'linux' && isBuiltin('node:ffi')

describe('releasePages', () => {
  it.runIf(canRelease)('unmaps most resident pages of Node, which maps them again when it needs them', () => {
    const hash = createHash('sha256').update('tollgate').digest('hex')
    const before = residentKibOfNode()
    const released = releasePages()!
    const after = residentKibOfNode()
    expect(released).toBeGreaterThan((before * 1_024) / 2)
    expect(after).toBeLessThan(before)
    expect(createHash('sha256').update('tollgate').digest('hex')).toBe(hash)
    expect(JSON.parse(JSON.stringify({ text: 'é'.normalize('NFD') }))).toEqual({ text: 'e\u0301' })
  })
})

function residentKibOfNode(): number {
  const smaps = readFileSync('/proc/self/smaps', 'utf8')
  return cleanRanges(smaps, process.execPath).reduce((sum, { residentBytes }) => sum + residentBytes, 0) / 1_024
}
