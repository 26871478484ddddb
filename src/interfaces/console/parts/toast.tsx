/** Short messages about changes that were made, with "undo" for those that can be reversed. */

import { signal } from '@preact/signals'
import { texts } from '../texts.ts'

interface Toast {
  readonly id: number
  readonly text: string
  readonly undo: (() => Promise<unknown>) | null
}

const SHOWN_MS = 8_000
const SHOWN_WITH_UNDO_MS = 20_000
const toasts = signal<readonly Toast[]>([])
let lastId = 0

export function notify(text: string, undo: (() => Promise<unknown>) | null = null): void {
  const id = ++lastId
  toasts.value = [...toasts.value, { id, text, undo }]
  expire(id, undo === null ? SHOWN_MS : SHOWN_WITH_UNDO_MS)
}

/** Not while the focus or the pointer is on it. */
function expire(id: number, shownMs: number): void {
  setTimeout(() => {
    if (document.querySelector(`#${idOf(id)}:is(:focus-within, :hover)`) === null) remove(id)
    else expire(id, shownMs)
  }, shownMs)
}

const idOf = (id: number): string => `toast-${id}`

function remove(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id)
}

/** The region exists from the start, so that screen readers announce what appears in it. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, undo }) => (
        <p key={id} id={idOf(id)}>
          <bdi>{text}</bdi>
          {undo !== null && (
            <button
              type="button"
              onClick={async () => {
                remove(id)
                await undo().then(
                  () => notify(texts.states.undone),
                  (cause: unknown) => notify(cause instanceof Error ? cause.message : texts.states.failed),
                )
              }}
            >
              {texts.states.undo}
            </button>
          )}
          <button type="button" aria-label={texts.states.close} onClick={() => remove(id)}>
            ×
          </button>
        </p>
      ))}
    </div>
  )
}
