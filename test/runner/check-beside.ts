/**
 * Global setup: `WITH_CHECK=1` runs `npm run check` beside the tests, which leave a part of the processors idle. Its output comes behind
 * the results, and `CHECK_FAILED` holds its verdict for the summary.
 */

import { spawn } from 'node:child_process'

export default function checkBeside(): (() => Promise<void>) | undefined {
  if (process.env['WITH_CHECK'] !== '1') return undefined
  const done = runCheck()
  return async () => {
    const { isOk, output } = await done
    if (output !== '') console.log(output)
    if (isOk) return
    process.env['CHECK_FAILED'] = '1'
    process.exitCode = 1
  }
}

function runCheck(): Promise<{ readonly isOk: boolean; readonly output: string }> {
  // At the lowest priority: tests have limits of time.
  const child = spawn('nice', ['-n', '19', 'npm', 'run', '--silent', 'check'], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  return new Promise((resolve) => {
    child.once('error', (cause) => resolve({ isOk: false, output: `npm run check: ${String(cause)}` }))
    child.once('close', (code) => resolve({ isOk: code === 0, output }))
  })
}
