import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createRecording, ROOT, type Step } from '../../power-cut/recording.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'recording-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const hex = (text: string): string => `"${Buffer.from(text).toString('hex').replaceAll(/../g, '\\x$&')}"`

/** Lines as strace prints them, of thread 1 unless they name another. */
function steps(...lines: readonly string[]): readonly Step[] {
  const recording = createRecording(folder)
  recording.addTrace(lines.map((line) => (/^\d/.test(line) ? line : `1 ${line}`)).join('\n'))
  return recording.steps
}

const openFile = (flags: string, descriptor = 20): string =>
  `openat(AT_FDCWD, ${hex(`${folder}/file`)}, ${flags}, 0600) = ${descriptor}`

describe('a recording', () => {
  it('has what is written at a place, and where the descriptor stands', () => {
    const found = steps(
      openFile('O_RDWR|O_CREAT|O_CLOEXEC'),
      `pwrite64(20, ${hex('abc')}, 3, 4096) = 3`,
      `write(20, ${hex('de')}, 2) = 2`,
      `write(20, ${hex('f')}, 1) = 1`,
      'lseek(20, 10, SEEK_SET) = 10',
      `writev(20, [{iov_base=${hex('g')}, iov_len=1}, {iov_base=${hex('h')}, iov_len=1}], 2) = 2`,
    )
    const inode = (found[0] as Extract<Step, { kind: 'link' }>).inode
    expect(found).toEqual([
      { kind: 'link', dir: ROOT, name: 'file', inode, isFolder: false },
      { kind: 'write', inode, offset: 4096, data: Buffer.from('abc') },
      { kind: 'write', inode, offset: 0, data: Buffer.from('de') },
      { kind: 'write', inode, offset: 2, data: Buffer.from('f') },
      { kind: 'write', inode, offset: 10, data: Buffer.from('gh') },
    ])
  })

  it('has of a short write what was written, and nothing of a failed one', () => {
    const found = steps(
      openFile('O_RDWR|O_CREAT'),
      `pwrite64(20, ${hex('abc')}, 3, 0) = 2`,
      `pwrite64(20, ${hex('abc')}, 3, 2) = -1 ENOSPC (No space left on device)`,
    )
    expect(found.slice(1)).toMatchObject([{ kind: 'write', offset: 0, data: Buffer.from('ab') }])
  })

  it('lets a sync cover what was done before it began', () => {
    const found = steps(
      openFile('O_RDWR|O_CREAT'),
      `pwrite64(20, ${hex('a')}, 1, 0) = 1`,
      '2 fdatasync(20 <unfinished ...>',
      `pwrite64(20, ${hex('b')}, 1, 1) = 1`,
      '2 <... fdatasync resumed>) = 0',
    )
    expect(found.at(-1)).toMatchObject({ kind: 'synced', since: 2, isDataOnly: true })
    expect(found).toHaveLength(4)
  })

  it('empties a file that is opened to be replaced', () => {
    writeFileSync(join(folder, 'file'), 'old')
    expect(steps(openFile('O_WRONLY|O_CREAT|O_TRUNC'))).toMatchObject([{ kind: 'truncate', size: 0 }])
  })

  it('has nothing of files elsewhere', () => {
    const found = steps(
      `openat(AT_FDCWD, ${hex('/elsewhere/file')}, O_RDWR|O_CREAT, 0600) = 20`,
      `pwrite64(20, ${hex('abc')}, 3, 0) = 3`,
      'fsync(20) = 0',
    )
    expect(found).toEqual([])
  })

  it('has lines that were printed, whole', () => {
    const found = steps(`write(1, ${hex('one\ntw')}, 6) = 6`, `write(1, ${hex('o\n')}, 2) = 2`)
    expect(found).toEqual([
      { kind: 'printed', line: 'one' },
      { kind: 'printed', line: 'two' },
    ])
  })

  it.each([
    ['fallocate(20, 0, 0, 4096) = 0', /fallocate/],
    ['copy_file_range(3, NULL, 20, NULL, 10, 0) = 10', /copy_file_range/],
  ])('refuses a call that it does not model: %s', (line, message) => {
    expect(() => steps(openFile('O_RDWR|O_CREAT'), line)).toThrow(message)
  })
})
