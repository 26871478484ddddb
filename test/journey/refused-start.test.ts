/**
 * Starts that are refused: exit code 2, and one line that names the file and the remedy.
 *
 * The service starts on a copy of an intact data folder with one fault. Root passes all permission checks, so the tests drop its
 * capabilities (`setpriv`); a case that needs a right that this machine does not grant (mounting) has its tag. What is refused before
 * the store opens is tried in one process (`refused-starts-process.ts`); `registry.db` stands for the rest in a process of its own.
 */

import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { OWN_ADDRESS, ownPort } from '../fixtures/own-address.ts'
import { createService, isEmbedded, isOnPostgres, type Service } from './service.ts'
import { endStarts, start, tryStart } from './refused-starts.ts'

const NOBODY = 65_534

let service: Service

beforeAll(async () => {
  service = await createService({ args: ['--empty'] })
  await service.start()
  await service.stop()
})
afterAll(async () => {
  endStarts()
  await service.remove()
})

function goodFolder(): string {
  const parent = mkdtempSync(join(tmpdir(), 'tollgate-refused-'))
  onTestFinished(() => {
    spawnSync('chmod', ['-R', 'u+rwX', parent])
    rmSync(parent, { recursive: true, force: true })
  })
  const folder = join(parent, 'data')
  cpSync(service.dataDir, folder, { recursive: true, verbatimSymlinks: true })
  return folder
}

const garbage = (path: string): void => writeFileSync(path, 'garbage '.repeat(2_000))
const toFolder = (path: string): void => {
  rmSync(path, { force: true })
  mkdirSync(path)
}
const toFile = (path: string): void => {
  rmSync(path, { recursive: true, force: true })
  writeFileSync(path, '')
}
const partOf = (folder: string): string => globSync('clickhouse/store/*/*/*_*_*_*/checksums.txt', { cwd: folder })[0]!

describe.skipIf(!isEmbedded)(
  'a start on a file that this user may not use (needs the registry and the store in the folder)',
  () => {
    it.each([
      ['registry.db', 0o000],
      ['registry.db', 0o400],
      ['checkpoint.db', 0o400],
      ['idempotency.db', 0o000],
      ['master.key', 0o000],
      ['lock', 0o400],
      ['spool', 0o500],
      ['spool/platform', 0o000],
      ['clickhouse/store', 0o000],
      ['.', 0o500],
    ] as const)('%s with too few permissions (%#) is refused and says how to allow it', async (path, mode) => {
      const folder = goodFolder()
      chmodSync(join(folder, path), mode)
      const { code, lines } = await (path === 'registry.db' ? start : tryStart)(folder)
      expect([code, lines]).toEqual([
        2,
        [
          `tollgate: ${join(folder, path)} cannot be used by this user (EACCES); this user owns it; grant access with: chmod u+rwX '${join(folder, path)}'`,
        ],
      ])
    })

    it('that is a part of the store is refused, although the engine alone would detach the part', async () => {
      const folder = goodFolder()
      const part = join(folder, partOf(folder))
      chmodSync(part, 0o000)
      const { code, lines } = await start(folder)
      expect([code, lines]).toEqual([2, [expect.stringContaining(`${part} cannot be used by this user`)]])
      chmodSync(part, 0o600)
      expect(globSync('clickhouse/store/*/*/detached/*', { cwd: folder })).toEqual([])
    })

    it('that does not belong to the service succeeds and leaves the file alone, like lost+found on a volume', async () => {
      const folder = goodFolder()
      mkdirSync(join(folder, 'lost+found'), { mode: 0o000 })
      const { lines } = await tryStart(folder, { CLICKHOUSE_URL: 'http://127.0.0.1:1' })
      expect(lines).toEqual([expect.stringContaining('CLICKHOUSE_URL http://127.0.0.1:1 does not answer')])
    })

    it(
      'that belongs to another user is refused with the name of the owner (needs root)',
      { tags: ['root'] },
      async () => {
        const folder = goodFolder()
        const path = join(folder, 'registry.db')
        chmodSync(path, 0o600)
        chownSync(path, NOBODY, NOBODY)
        const { code, lines } = await tryStart(folder)
        expect([code, lines]).toEqual([
          2,
          [
            `tollgate: ${path} cannot be used by this user (EACCES); its owner is user 65534, but this process runs as user 0; run: chown -R 0 '${path}'`,
          ],
        ])
      },
    )

    it('in a folder that cannot be created is refused with the name of the parent folder', async () => {
      const parent = goodFolder()
      chmodSync(parent, 0o500)
      const { code, lines } = await tryStart(join(parent, 'new'))
      expect([code, lines]).toEqual([
        2,
        [expect.stringMatching(/new cannot be used by this user \(EACCES\); .*chmod u\+rwX/)],
      ])
    })
  },
)

describe.skipIf(!isEmbedded)(
  'a start on a file of the wrong kind (needs the registry and the store in the folder)',
  () => {
    it.each([
      ['registry.db', garbage, /registry\.db is damaged \(.*\); .*recover --accept-loss registry/],
      ['registry.db', toFolder, /registry\.db is not the expected kind of file \(EISDIR\); move it away/],
      ['checkpoint.db', garbage, /checkpoint\.db is damaged \(.*\); .*recover --accept-loss checkpoint/],
      [
        'lock',
        garbage,
        /lock is damaged or not a database \(.*\); no process holds the lock, and the file has no content of value: delete it/,
      ],
      ['lock', toFolder, /lock is not the expected kind of file \(EISDIR\); move it away/],
      ['master.key', garbage, /master\.key takes 32 bytes as 64 hex digits or as base64url; restore it from a backup/],
      [
        'master.key',
        (path: string) => truncateSync(path),
        /master\.key is missing or empty .*; put it back, set MASTER_KEY/,
      ],
      [
        'master.key',
        (path: string) => rmSync(path),
        /master\.key is missing or empty .*registry\.db .*; put it back, set MASTER_KEY/,
      ],
      ['master.key', toFolder, /master\.key is not the expected kind of file \(EISDIR\)/],
      ['spool', toFile, /spool is not the expected kind of file \((EEXIST|ENOTDIR)\); move it away/],
      [
        'spool/gateway-0',
        toFile,
        /spool\/gateway-0 is not the expected kind of file \((EEXIST|ENOTDIR)\); move it away/,
      ],
      ['clickhouse', toFile, /clickhouse\/ is missing or empty .*; put it back from a backup/],
    ] as const)('%s is refused and names the remedy (%#)', async (name, spoil, message) => {
      const folder = goodFolder()
      spoil(join(folder, name))
      const { code, lines } = await (name === 'registry.db' ? start : tryStart)(folder, { GATEWAY_THREADS: '1' })
      expect([code, lines]).toEqual([2, [expect.stringMatching(message)]])
      expect(lines[0]).toContain(folder)
    })

    it('does not mistake a lock with garbage for another process, and succeeds without the lock', async () => {
      const folder = goodFolder()
      garbage(join(folder, 'lock'))
      expect((await tryStart(folder)).code).toBe(2)
      rmSync(join(folder, 'lock'))
      const again = await createService({ args: ['--empty'], dataDir: folder })
      await again.start()
      expect(await again.stop()).toBe(0)
    })

    it('in place of DATA_DIR is refused', async () => {
      const path = join(goodFolder(), 'file')
      writeFileSync(path, '')
      const { code, lines } = await tryStart(path)
      expect([code, lines]).toEqual([
        2,
        [`tollgate: DATA_DIR ${path} is not a folder; move it away, or set another DATA_DIR`],
      ])
    })
  },
)

describe.skipIf(isOnPostgres)('a start on a disk that cannot be written (needs the registry in the folder)', () => {
  /** Mounts a small file system; its options are those of tmpfs. */
  function mount(options: string): string {
    const point = mkdtempSync(join(tmpdir(), 'tollgate-mount-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', point])
    onTestFinished(() => {
      execFileSync('umount', [point])
      rmSync(point, { recursive: true })
    })
    return point
  }

  it.each([8, 64, 256, 1_024])(
    'that is full after %i KiB is refused and says so (needs the right to mount)',
    { tags: ['mount'] },
    async (kib) => {
      const { code, lines } = await start(join(mount(`size=${kib}k`), 'data'))
      expect([code, lines]).toEqual([2, [expect.stringMatching(/ the disk or the quota is full; free some space/)]])
    },
  )

  it('that is mounted read-only is refused and says so (needs the right to mount)', { tags: ['mount'] }, async () => {
    const point = mount('size=64m')
    cpSync(service.dataDir, join(point, 'data'), { recursive: true, verbatimSymlinks: true })
    execFileSync('mount', ['-o', 'remount,ro', point])
    const { code, lines } = await start(join(point, 'data'))
    expect([code, lines]).toEqual([
      2,
      [
        `tollgate: ${join(point, 'data')} is on a read-only file system (EROFS); mount it writable, or set another DATA_DIR`,
      ],
    ])
  })
})

describe('a start with an unreachable dependency', () => {
  it.skipIf(isOnPostgres)(
    'is refused if a ClickHouse server does not respond, without showing its password (needs the registry in the folder)',
    async () => {
      const port = await ownPort()
      const url = `http://user:secret-word@${OWN_ADDRESS}:${port}`
      const { code, lines } = await tryStart(goodFolder(), { CLICKHOUSE_URL: url })
      expect([code, lines]).toEqual([
        2,
        [
          expect.stringMatching(
            /CLICKHOUSE_URL http:\/\/127\.\d+\.\d+\.\d+:\d+ does not answer, or rejects the request \(ECONNREFUSED.*\); start that server/,
          ),
        ],
      ])
      expect(lines.join()).not.toContain('secret-word')
    },
  )

  it('is refused for an address of another machine, and creates no file', async () => {
    const folder = join(goodFolder(), 'new')
    const { code, lines } = await tryStart(folder, { HOST: '192.0.2.1' })
    expect([code, lines]).toEqual([
      2,
      [
        'tollgate: HOST 192.0.2.1 is not an address of this machine; set HOST to one of its addresses, or to 0.0.0.0 to listen on all of them',
      ],
    ])
    expect(existsSync(folder)).toBe(false)
  })

  it('leaves no probe or other file behind', () => {
    expect(readdirSync(service.dataDir).filter((name) => name.startsWith('.'))).toEqual([])
  })
})
