import { describe, expect, it } from 'vitest'
import { createDisk, type FileSystem, type Tree } from '../../power-cut/disk.ts'
import type { Node, Step } from '../../power-cut/recording.ts'
import { ROOT } from '../../power-cut/recording.ts'
import { createRandom } from '../../random.ts'

const FILE = 7
const FOLDER = 8

const link = (name: string, inode = FILE, dir = ROOT): Step => ({
  kind: 'link',
  dir,
  name,
  inode,
  isFolder: inode === FOLDER,
})
const write = (offset: number, text: string): Step => ({ kind: 'write', inode: FILE, offset, data: Buffer.from(text) })
const synced = (since: number, inode = FILE): Step => ({ kind: 'synced', inode, since, isDataOnly: true })

/** Every state that 300 power cuts after the last step leave. */
function cuts(steps: readonly Step[], kind: FileSystem, initial = new Map<number, Node>()): readonly Tree[] {
  const random = createRandom(42)
  return Array.from({ length: 300 }, () => {
    const disk = createDisk({ steps, initial, addTrace() {} })
    disk.advance(steps.length)
    return disk.cut(kind, random)
  })
}

/** The different contents of a file; undefined: it is not there. */
const contents = (trees: readonly Tree[], path: string): readonly (string | undefined)[] =>
  [...new Set(trees.map((tree) => tree.get(path)?.toString('latin1')))].sort()

const withFile = new Map<number, Node>([
  [ROOT, { entries: new Map([['file', FILE]]) }],
  [FILE, { bytes: Buffer.from('old') }],
])

describe('the simulated disk', () => {
  it('keeps what was synced', () => {
    const steps = [write(3, ' and new'), synced(1)]
    for (const kind of ['strict', 'ordered'] as const) {
      expect(contents(cuts(steps, kind, withFile), 'file')).toEqual(['old and new'])
    }
  })

  it('may lose what was written after a sync began, though the sync ended later', () => {
    const steps = [write(3, '+'), write(4, '-'), synced(1)]
    expect(contents(cuts(steps, 'ordered', withFile), 'file')).toEqual(['old+', 'old+-'])
  })

  it('may lose any unsynced write and keep a later one', () => {
    const steps = [write(3, '1'), write(4, '2'), write(5, '3')]
    const found = contents(cuts(steps, 'ordered', withFile), 'file')
    expect(found).toEqual(['old', 'old\0\x003', 'old\x002', 'old\x0023', 'old1', 'old1\x003', 'old12', 'old123'])
  })

  it('tears a write between sectors, and never within one', () => {
    const sizes = new Set<number>()
    for (const tree of cuts([write(0, 'x'.repeat(10_000))], 'ordered', withFile)) {
      const bytes = tree.get('file')!
      sizes.add(bytes.length)
      for (let at = 0; at + 512 <= bytes.length; at += 512) {
        expect(new Set(bytes.subarray(Math.max(at, 3), at + 512)).size).toBe(1)
      }
    }
    expect([...sizes].filter((size) => size > 3 && size < 10_000).length).toBeGreaterThan(3)
  })

  it('may let a file grow with zeros if the file system is strict', () => {
    const found = contents(cuts([write(3, '12')], 'strict', withFile), 'file')
    expect(found).toContain('old\0\0')
    expect(contents(cuts([write(3, '12')], 'ordered', withFile), 'file')).toEqual(['old', 'old12'])
  })

  it('may undo a truncation that was not synced', () => {
    const steps: Step[] = [{ kind: 'truncate', inode: FILE, size: 0 }]
    expect(contents(cuts(steps, 'ordered', withFile), 'file')).toEqual(['', 'old'])
  })

  it('loses the name of a synced file if the file system is strict and its folder was not synced', () => {
    const steps = [link('file'), write(0, 'data'), synced(2)]
    expect(contents(cuts(steps, 'strict'), 'file')).toEqual(['data', undefined])
    expect(contents(cuts(steps, 'ordered'), 'file')).toEqual(['data'])
    expect(contents(cuts([...steps, synced(3, ROOT)], 'strict'), 'file')).toEqual(['data'])
  })

  it('loses a folder with all that is in it', () => {
    const steps = [link('folder', FOLDER), link('file', FILE, FOLDER), write(0, 'data'), synced(3), synced(4, FOLDER)]
    expect(contents(cuts(steps, 'strict'), 'folder/file')).toEqual(['data', undefined])
  })

  it('renames a file as a whole, or not at all', () => {
    const steps: Step[] = [{ kind: 'rename', dir: ROOT, toDir: ROOT, from: 'file', to: 'name', inode: FILE }]
    for (const kind of ['strict', 'ordered'] as const) {
      const names = new Set(cuts(steps, kind, withFile).map((tree) => [...tree.keys()].join()))
      expect([...names].sort()).toEqual(['file', 'name'])
    }
  })
})
