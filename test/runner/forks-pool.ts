/**
 * vitest's pool of processes, with two differences: what a worker or a library in it writes past the console is kept, and shown only
 * with a file that fails; and a worker that hangs is ended.
 *
 * Tests of damaged stores load the embedded engine, which prints errors of thousands of characters.
 */

import type { ChildProcess } from 'node:child_process'
import { Writable } from 'node:stream'
import { ForksPoolWorker, type PoolOptions, type PoolWorker, type Vitest, type WorkerRequest } from 'vitest/node'

/** A worker reports each test and hook that ends, and none may take as long. The long runs of `package.json` name their files. */
const SILENT_MS_MAX = 900_000
const OUTPUT_LENGTH_MAX = 20_000

/** What the worker of each file, by its path, has written since the file began. */
const written = new Map<string, string>()

export const FILE_FORKS = {
  name: 'file-forks',
  createPoolWorker: (options: PoolOptions): PoolWorker => new FileWorker(options),
}

/** Returns the end of what the worker of a file has written, and drops it. */
export function takeWritten(file: string): string {
  const text = written.get(file) ?? ''
  written.delete(file)
  return text
}

/** Whether the command line names no files. */
export function isWholeRun(vitest: Vitest): boolean {
  const { filenamePattern = [] } = vitest as unknown as { readonly filenamePattern?: readonly string[] }
  return filenamePattern.length === 0
}

class FileWorker extends ForksPoolWorker {
  override readonly name = FILE_FORKS.name
  #file = ''
  #timer: NodeJS.Timeout | undefined
  #isRunning = false
  readonly #isWhole: boolean

  constructor(options: PoolOptions) {
    const sink = new Writable({ write: (chunk: Buffer, _encoding, done) => (this.#keep(chunk.toString()), done()) })
    // The worker reads nothing else of the project.
    const project = { vitest: { logger: { outputStream: sink, errorStream: sink } } }
    super({ ...options, project: project as unknown as PoolOptions['project'] })
    this.#isWhole = isWholeRun(options.project.vitest)
  }

  override async start(): Promise<void> {
    await super.start()
    this.on('message', (message: { type?: string } | undefined) => {
      if (message?.type === 'testfileFinished') this.#isRunning = false
      this.#watch()
    })
  }

  override send(request: WorkerRequest): void {
    if (request.type === 'run') {
      this.#file = request.context.files[0]?.filepath ?? ''
      written.delete(this.#file)
      this.#isRunning = true
      this.#watch()
    }
    super.send(request)
  }

  override async stop(): Promise<void> {
    this.#isRunning = false
    this.#watch()
    await super.stop()
  }

  /** Begins to wait anew. */
  #watch(): void {
    clearTimeout(this.#timer)
    if (!this.#isWhole || !this.#isRunning) return
    this.#timer = setTimeout(() => this.#endHanging(), SILENT_MS_MAX).unref()
  }

  #keep(text: string): void {
    written.set(this.#file, ((written.get(this.#file) ?? '') + text).slice(-OUTPUT_LENGTH_MAX))
  }

  /** vitest then reports that the worker of the file ended unexpectedly. */
  #endHanging(): void {
    this.#keep(`No test of the file ended within ${SILENT_MS_MAX / 1_000} s; its process was ended.\n`)
    const { _fork: child } = this as unknown as { readonly _fork: ChildProcess | undefined }
    child?.kill('SIGKILL')
  }
}
