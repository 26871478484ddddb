/** The quickstart of the docs, run unchanged: in the folder of a checkout, pasted into an interactive shell. */

import { cpSync, appendFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../src/interfaces/cli/free-port.ts'
import { paste, SHELLS } from './shells.ts'

const ROOT = join(import.meta.dirname, '../..')
const QUICKSTART = readFileSync(join(ROOT, 'docs/quickstart.md'), 'utf8')
const BLOCKS = [...QUICKSTART.matchAll(/^```sh\n([^]*?)\n```$/gm)].map(([, block]) => block ?? '')
const [, START = '', USE = '', ...FURTHER] = BLOCKS
const BILL = USE.split('\n').at(-1) ?? ''
/** Upper bound for repeating the last command of the first use until the bill shows an amount. */
const TRIES = Array.from({ length: 30 }, (_, index) => index).join(' ')
/** Linux allows 128 KiB for one argument of a program. */
const LONG_COMMENT = `# ${'x'.repeat(70)}\n`.repeat(3_000)

/**
 * A folder that looks like a checkout, so that logs and data of the test do not end up in this one. Its OpenAPI document is
 * longer than an argument of a program may be.
 */
function checkout(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-quickstart-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['package.json', 'node_modules', 'bin', 'src', 'sql'])
    symlinkSync(join(ROOT, name), join(folder, name))
  cpSync(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true })
  appendFileSync(join(folder, 'examples/openapi.yaml'), LONG_COMMENT)
  return folder
}

describe('first use: the quickstart', () => {
  it('installs, starts, and uses only files and commands that every Linux and macOS has', () => {
    expect(BLOCKS).toHaveLength(6)
    expect(BLOCKS[0]).toBe('npm ci')
    for (const block of BLOCKS) {
      // Interactive zsh has no comments, and interactive bash expands `!`; the rest is specific to GNU or not available everywhere.
      expect(block).not.toMatch(/#|!|base64 -w|sed -i|date -d|grep -P|readlink -f|\b(python3?|jq|seq|timeout)\b/)
    }
  })

  for (const shell of SHELLS) {
    const options = { timeout: 150_000, tags: ['curl', ...shell.tags] }
    it(`pasted into ${shell.name} ends with a visible risk, a bill, and a retired API`, options, async () => {
      const cwd = checkout()
      const [gatewayPort, platformPort, backendPort] = await Promise.all([freePort(), freePort(), freePort()])
      const env = {
        GATEWAY_PORT: String(gatewayPort),
        PLATFORM_PORT: String(platformPort),
        BACKEND_PORT: String(backendPort),
        GATEWAY_URL: `http://127.0.0.1:${gatewayPort}`,
        BASE_URL: `http://127.0.0.1:${platformPort}`,
      }
      const again = `for i in ${TRIES}; do ${BILL} | grep 0.002 && break; sleep 1; done`
      const further = FURTHER.flatMap((block, index) => [`echo; echo block ${index}`, block])
      const script = [START, USE, again, ...further, 'echo; echo end', 'kill %1 %2', 'wait', 'echo all stopped']
      const { out } = await paste(shell, script.join('\n'), { cwd, env })
      const [use = '', approval = '', canary = '', retirement = '', end = ''] = out.split(/^(?:block \d|end)$/m)

      expect(use).toContain('HTTP/1.1 200 OK')
      expect(use).toContain('"code":"payload_invalid"')
      expect(use).toMatch(/^data: .*"ProtectionViolation".*"severity":"Critical".*"name":"Acme"/m)
      expect(use).toMatch(/^orders-v1,con_\w+,1,1,0\.002,EUR,/m)

      expect(approval).toContain('"code":"operation_forbidden"')
      expect(approval).toContain('"outcome":"Approved","comments":"A customer"')
      expect(approval).toMatch(/"state":"Active".*"consumerName":"Shop"/)

      expect(canary).toMatch(/"canary":\{"revision":2,"consumers":\["con_\w+"\]/)
      expect(canary.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2)
      expect(canary).toMatch(/"activeRevision":2,"stagingRevision":null.*"canary":null/)

      expect(retirement).toMatch(/HTTP\/1\.1 200 OK(?:\r\n.+)*\r\nSunset: /im)
      expect(retirement).toContain('"code":"subscriptions_active"')
      expect(retirement).toContain('HTTP/1.1 410 Gone')
      expect(retirement).toContain('"code":"api_retired"')

      expect(end).toContain('all stopped')
      expect(readFileSync(join(cwd, 'tollgate.log'), 'utf8')).toContain('draining; calls in flight finish first')
      await expect(fetch(`${env.BASE_URL}/healthz`)).rejects.toThrow()
    })
  }
})
