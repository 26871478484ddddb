import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { isKept, keepingChildren } from '../../runner/kept-processes.ts'
import { cpuSecondsOf, descendantsOf, isRunning, killAll, processesNaming } from '../../runner/processes.ts'

const children: ChildProcess[] = []
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const ended = new Promise((resolve) => child.once('exit', resolve))
    killAll([...descendantsOf(child.pid ?? 0), { pid: child.pid ?? 0, command: '' }])
    await ended
  }
})

/** Runs a shell script, and resolves with the first line that it prints. */
async function run(script: string, env: NodeJS.ProcessEnv = process.env): Promise<{ pid: number; line: string }> {
  const child = spawn('sh', ['-c', script], { env, stdio: ['pipe', 'pipe', 'ignore'] })
  children.push(child)
  const line = await new Promise<string>((resolve) =>
    child.stdout.once('data', (chunk: Buffer) => resolve(String(chunk))),
  )
  return { pid: child.pid ?? 0, line: line.trim() }
}

describe.runIf(process.platform === 'linux')('the processes of a test file (needs /proc of Linux)', () => {
  it('include those that its children have started', async () => {
    const { pid, line } = await run('sleep 600 & echo $!; wait')
    const found = descendantsOf(process.pid).map((each) => each.pid)
    expect(found).toContain(pid)
    expect(found).toContain(Number(line))
  })

  it('are found by their arguments and by their environment, also without a parent', async () => {
    const name = randomUUID()
    const inArguments = await run(`: ${name}; echo ready; read x`)
    const inEnvironment = await run('(exec sleep 600 >/dev/null) & echo $!', { ...process.env, NAME: name })
    // The shell of the second one has ended by then.
    const pidsOf = (): number[] => processesNaming(name).map(({ pid }) => pid)
    await expect.poll(pidsOf).toEqual(expect.arrayContaining([inArguments.pid, Number(inEnvironment.line)]))
    await expect.poll(() => pidsOf().length).toBe(2)
    killAll(processesNaming(name))
    await expect.poll(() => processesNaming(name)).toEqual([])
  })

  it('have the CPU time of children that have ended', async () => {
    const { pid } = await run('i=0; sh -c "i=0; while [ \\$i -lt 300000 ]; do i=\\$((i+1)); done"; echo done; read x')
    expect(cpuSecondsOf(pid)).toBeGreaterThan(0)
  })

  it('run until they have ended, also if nothing has waited for them', async () => {
    const { line } = await run('sh -c "exit 0" & echo $!; exec sleep 600')
    await expect.poll(() => isRunning(Number(line))).toBe(false)
    expect([isRunning(process.pid), isRunning(2 ** 22 + 1)]).toEqual([true, false])
  })

  it('that are gone have no CPU time and no descendants', () => {
    expect([cpuSecondsOf(2 ** 22 + 1), descendantsOf(2 ** 22 + 1)]).toEqual([0, []])
  })
})

describe.runIf(process.platform === 'linux')('what a worker keeps for its later files (needs /proc of Linux)', () => {
  it('is each child that starts meanwhile, and none that ran before', async () => {
    const before = await run('echo ready; read x')
    const kept = await keepingChildren(() => run('echo ready; read x'))
    const later = await run('echo ready; read x')
    expect([before, kept, later].map(({ pid }) => isKept(pid))).toEqual([false, true, false])
  })
})
