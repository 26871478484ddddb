import { execFile } from 'node:child_process'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { cleanRanges, releasePages } from '../../../../src/foundation/runtime/release-pages.ts'

const MODULE = join(import.meta.dirname, '../../../../src/foundation/runtime/release-pages.ts')
const NODE = '/opt/node/bin/node'
const ENGINE = '/app/node_modules/@chdb/lib-linux-x64-gnu/libchdb.so'
const canRelease = process.platform === 'linux' && isBuiltin('node:ffi')

describe('cleanRanges', () => {
  it('returns code and constants of Node and of the engine', () => {
    const smaps =
      mapping('00400000-00600000 r--p', NODE, { rssKib: 1_024 }) +
      mapping('00600000-00800000 r-xp', NODE, { rssKib: 2_000, offset: '00200000' }) +
      mapping('7f0000000000-7f0009000000 r--p', ENGINE, { rssKib: 40_000 })
    expect(cleanRanges(smaps, NODE)).toEqual([
      { start: 0x400000n, bytes: 0x200000n, residentBytes: 1_024 * 1_024 },
      { start: 0x600000n, bytes: 0x200000n, residentBytes: 2_000 * 1_024 },
      { start: 0x7f0000000000n, bytes: 0x9000000n, residentBytes: 40_000 * 1_024 },
    ])
  })

  it('leaves alone what V8 maps of Node for one thread, which unmaps it when it ends', () => {
    const image = mapping('00400000-00600000 rw-p', NODE, { rssKib: 1_024 })
    const apart = mapping('7f0000000000-7f0000200000 r-xp', NODE, { rssKib: 2_048, offset: '00200000' })
    const behindOther = mapping('00600000-00800000 r-xp', ENGINE, { rssKib: 2_048, offset: '00200000' })
    expect(cleanRanges(image + apart, NODE)).toEqual([])
    expect(cleanRanges(image + behindOther, NODE)).toEqual([])
  })

  it.each([
    ['that holds relocated addresses', mapping('1000-2000000 r--p', ENGINE, { rssKib: 12_768, changedKib: 12_764 })],
    ['with a single changed page', mapping('1000-2000000 r-xp', NODE, { rssKib: 12_768, changedKib: 4 })],
    ['that is writable', mapping('1000-2000000 rw-p', ENGINE, { rssKib: 5_000 })],
    ['that is shared with writers', mapping('1000-2000000 r--s', ENGINE, { rssKib: 5_000 })],
    ['of another file', mapping('1000-2000000 r--p', '/data/store/part.bin', { rssKib: 5_000 })],
    [
      'of a file whose name only begins like the engine',
      mapping('1000-2000000 r--p', `${ENGINE}.x`, { rssKib: 5_000 }),
    ],
    ['without a file', mapping('1000-2000000 r--p', '', { rssKib: 5_000 })],
    ['of which almost nothing is resident', mapping('1000-2000000 r--p', ENGINE, { rssKib: 800 })],
    ['without a count of changed pages', '1000-2000000 r--p 00000000 fe:00 17 /opt/node/bin/node\nRss: 5000 kB\n'],
  ])('leaves a range alone %s', (_, smaps) => {
    expect(cleanRanges(smaps, NODE)).toEqual([])
  })
})

describe('releasePages', () => {
  it.runIf(canRelease)('prints no warning, and leaves those of others alone', async () => {
    const { stdout, stderr } = await run([], `process.emitWarning('own warning')`)
    expect(Number(stdout)).toBeGreaterThan(1_000_000)
    expect(stderr).not.toContain('FFI')
    expect(stderr).toContain('own warning')
  })

  it.runIf(canRelease)('does nothing if the foreign function interface is switched off', async () => {
    expect((await run(['--no-experimental-ffi'])).stdout).toBe('null\n')
  })

  it('does nothing if Node has no foreign function interface, or one that differs', () => {
    expect(releasePages(() => undefined)).toBeNull()
    expect(releasePages(() => ({}) as typeof import('node:ffi'))).toBeNull()
  })
})

interface Shown {
  readonly rssKib: number
  readonly changedKib?: number
  readonly offset?: string
}

function mapping(range: string, path: string, { rssKib, changedKib = 0, offset = '00000000' }: Shown): string {
  return [
    `${range} ${offset} fe:00 5312688                    ${path}`,
    'Size:             149944 kB',
    `Rss:           ${rssKib} kB`,
    `Anonymous:             ${changedKib} kB`,
    'VmFlags: rd ex mr mw me sd ',
    '',
  ].join('\n')
}

function run(flags: readonly string[], more = ''): Promise<{ stdout: string; stderr: string }> {
  const script = `const { releasePages } = await import(${JSON.stringify(MODULE)}); console.log(releasePages()); ${more}`
  return promisify(execFile)(process.execPath, [...flags, '--input-type=module', '--eval', script], { timeout: 30_000 })
}
