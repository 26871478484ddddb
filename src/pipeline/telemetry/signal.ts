/** One signal on its way to a collector: its client, its serializer, its counters, and one line of log when the export begins to fail. */

import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import type { SignalConfig, SignalName } from './telemetry-settings.ts'
import type { DropReason, SendResult } from './export-queue.ts'
import { createOtlpClient, type OtlpClient } from './otlp-client.ts'
import type { Serializer } from './serializers.ts'

export interface Counters {
  exported(signal: SignalName, items: number): void
  dropped(signal: SignalName, items: number, reason: DropReason | 'late' | 'unreadable'): void
}

export interface SignalOptions<Input> {
  readonly name: SignalName
  readonly config: SignalConfig
  readonly serializer: Serializer<Input>
  readonly counters: Counters
  readonly clock: Clock
  /** Lines of this log are not exported. */
  readonly log: Log
  readonly userAgent: string
}

export class Signal<Input> {
  readonly #options: SignalOptions<Input>
  readonly #client: OtlpClient
  #isFailing = false

  constructor(options: SignalOptions<Input>) {
    this.#options = options
    this.#client = createOtlpClient(options.config, options.clock, options.userAgent)
  }

  async send(input: Input, withinMs: number, signal: AbortSignal): Promise<SendResult> {
    const { serializer } = this.#options
    const answer = await this.#client.post(serializer.toBytes(input), withinMs, signal)
    if (answer.outcome !== 'accepted') return answer
    try {
      return { outcome: 'accepted', rejected: serializer.readRejected(answer.body) }
    } catch {
      // The status says that the batch is taken. That the rest is no OTLP is common with proxies.
      return { outcome: 'accepted', rejected: 0 }
    }
  }

  readonly onExported = (items: number): void => this.#options.counters.exported(this.#options.name, items)

  readonly onDropped = (items: number, reason: DropReason | 'late' | 'unreadable'): void =>
    this.#options.counters.dropped(this.#options.name, items, reason)

  readonly onAttempt = (reason: string | null): void => {
    const { log, name } = this.#options
    if (reason === null) {
      if (this.#isFailing) log.info({ signal: name }, 'the collector accepts telemetry again')
      this.#isFailing = false
    } else if (!this.#isFailing) {
      this.#isFailing = true
      log.warn(
        { signal: name, reason },
        'the collector does not accept telemetry; what does not fit into the queue is dropped',
      )
    }
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}
