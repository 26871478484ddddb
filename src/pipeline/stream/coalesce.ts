/**
 * Emits the first signal of a burst immediately, and all signals within the next `gapMs` as one signal at their end.
 *
 * A busy source causes one emission per `gapMs`; a rare signal passes without delay. The last signal of a burst always
 * causes an emission.
 */

import { Observable, type OperatorFunction } from './rxjs.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'

export function coalesce(gapMs: number, clock: Pick<Clock, 'after'>): OperatorFunction<unknown, void> {
  return (source) =>
    new Observable((subscriber) => {
      let isInGap = false
      let isPending = false
      let cancel = (): void => {}

      function emitNow(): void {
        isPending = false
        isInGap = true
        cancel = clock.after(gapMs, () => {
          isInGap = false
          if (isPending) emitNow()
        })
        subscriber.next()
      }

      subscriber.add(() => cancel())
      subscriber.add(
        source.subscribe({
          next: () => {
            if (isInGap) isPending = true
            else emitNow()
          },
          error: (reason) => subscriber.error(reason),
          complete: () => subscriber.complete(),
        }),
      )
    })
}
