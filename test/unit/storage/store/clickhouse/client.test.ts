import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'

const CLIENT = new URL('../../../../../src/storage/store/clickhouse/client.ts', import.meta.url).href

/** Opens a client in a process of its own, and returns whether the process has the library of the engine in memory. */
function loadsEngine(url: string): boolean {
  const program = `
    import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
    import { openClickHouse } from ${JSON.stringify(CLIENT)}
    const folder = mkdtempSync('/tmp/tollgate-client-')
    const client = openClickHouse({ url: ${url}, folder })
    console.log(readFileSync('/proc/self/maps', 'utf8').includes('libchdb'))
    await client.close()
    rmSync(folder, { recursive: true, force: true })
  `
  const text = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  return JSON.parse(text) as boolean
}

describe.runIf(process.platform === 'linux')('openClickHouse (needs /proc of Linux)', () => {
  it('loads the library of the embedded engine only if no server is set', () => {
    expect(loadsEngine('"http://127.0.0.1:1"')).toBe(false)
    expect(loadsEngine('null')).toBe(true)
  })
})
