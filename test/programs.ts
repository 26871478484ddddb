/**
 * Programs that tests start and that a machine may lack. A test names each one that it needs as a tag, in the options of `it` or
 * `describe`, or for a whole file with a line `// @module-tag redis-server`; vitest skips it if the program is missing.
 *
 * Looks at the PATH and at the folders in which Debian keeps servers. `WITHOUT_PROGRAMS=haproxy,postgres` hides some, for a look at what
 * a machine without them would skip.
 */

import { accessSync, constants, existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

export interface Program {
  /** The tag of the tests. */
  readonly name: string
  /** The package of Debian; null for a right, which no package gives. */
  readonly package: string | null
  /** Names of the file, the best first; default: the name. */
  readonly files?: readonly string[]
  /** What else the machine must have. */
  readonly isUsable?: () => boolean
}

const isRoot = (): boolean => process.getuid?.() === 0

export const PROGRAMS: readonly Program[] = [
  // Debian builds both from one source; the first has no window, and draws the same pages with half of the CPU.
  { name: 'chromium', package: 'chromium', files: ['chromium-headless-shell', 'chromium'] },
  { name: 'curl', package: 'curl' },
  { name: 'fish', package: 'fish' },
  { name: 'git', package: 'git' },
  { name: 'haproxy', package: 'haproxy' },
  { name: 'openssl', package: 'openssl' },
  { name: 'pgbouncer', package: 'pgbouncer' },
  // Refuses to run as root; then it runs as the user of Debian's package.
  { name: 'postgres', package: 'postgresql', files: ['initdb'], isUsable: () => !isRoot() || hasUser('postgres') },
  { name: 'prlimit', package: 'util-linux' },
  { name: 'promtool', package: 'prometheus' },
  { name: 'redis-server', package: 'redis-server' },
  { name: 'script', package: 'bsdutils' },
  { name: 'strace', package: 'strace' },
  { name: 'zsh', package: 'zsh' },
  { name: 'root', package: null, isUsable: isRoot },
  { name: 'mount', package: null, isUsable: canMount },
]

/** Where Debian keeps servers; the PATH of an ordinary user has neither. */
const FOLDERS = ['/usr/sbin', '/usr/lib/postgresql/*/bin']
/** CAP_SYS_ADMIN of capabilities(7). */
const SYS_ADMIN = 21n

/** The programs that this machine lacks. Starts no process. */
export function missingPrograms(): readonly Program[] {
  const hidden = (process.env['WITHOUT_PROGRAMS'] ?? '').split(',')
  return PROGRAMS.filter((program) => hidden.includes(program.name) || !isThere(program))
}

/** Definitions for `test.tags` of vitest. Of several tags of a test, one with `skip: false` would override another with `skip: true`. */
export function toTags(missing: readonly Program[] = missingPrograms()) {
  return PROGRAMS.map((program) => ({
    name: program.name,
    description: program.package === null ? 'a right on this machine' : `package ${program.package}`,
    ...(missing.includes(program) && { skip: true }),
  }))
}

/** Returns the path of a program. Throws if it is missing. */
export function pathOf(name: string): string {
  const program = PROGRAMS.find((each) => each.name === name)
  const path = program === undefined ? null : findProgram(program)
  if (path === null) throw new Error(`${name} is not installed, and this test has no tag for it (test/programs.ts)`)
  return path
}

function isThere(program: Program): boolean {
  const isInstalled = program.package === null || findProgram(program) !== null
  return isInstalled && (program.isUsable?.() ?? true)
}

function findProgram({ name, files = [name] }: Program): string | null {
  const folders = [
    ...(process.env['PATH'] ?? '').split(':'),
    // The newest version first.
    ...FOLDERS.flatMap((folder) => globSync(folder).toSorted().toReversed()),
  ]
  const paths = files.flatMap((file) => folders.map((folder) => join(folder, file)))
  return paths.find(isExecutable) ?? null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function hasUser(name: string): boolean {
  return textOf('/etc/passwd').includes(`\n${name}:`)
}

/** Whether this process has the capability to mount file systems, which root in a container may lack. */
function canMount(): boolean {
  if (!isRoot()) return false
  const [, effective = '0'] = /^CapEff:\s*(\w+)$/m.exec(textOf('/proc/self/status')) ?? []
  return ((BigInt(`0x${effective}`) >> SYS_ADMIN) & 1n) === 1n
}

/** Systems other than Linux lack some of these files. */
function textOf(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}
