/** Dialogs: a form, or the confirmation of what cannot be undone. Escape closes them, and the focus returns. */

import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { CallRefused, type Problem } from '../api/client.ts'
import { query, setQuery } from '../router.ts'
import { texts } from '../texts.ts'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  readonly isWide?: boolean
}

export function Dialog({ title, onClose, children, isWide = false }: DialogProps) {
  const place = useRef<HTMLDialogElement>(null)
  const id = useId()
  const isGone = useRef(false)
  useLayoutEffect(() => {
    const dialog = place.current
    dialog?.showModal()
    return () => {
      isGone.current = true
      // Gives the focus back to where it was; a dialog that is only removed does not.
      dialog?.close()
    }
  }, [])
  return (
    <dialog
      ref={place}
      class={isWide ? 'wide' : ''}
      aria-labelledby={id}
      // Escape. The browser reports a closed dialog only later, when the next one may be open; a file field reports here too.
      onCancel={({ target, currentTarget }) => target === currentTarget && onClose()}
      onClose={() => isGone.current || onClose()}
    >
      <div class="dialog-head">
        <h2 id={id}>
          <bdi>{title}</bdi>
        </h2>
        <button type="button" aria-label={texts.states.close} onClick={onClose}>
          ×
        </button>
      </div>
      {children}
    </dialog>
  )
}

interface FormProps {
  /** The verb and its object: "Revoke credential". */
  readonly submit: string
  /** Throws `CallRefused`, which the form shows. */
  readonly onSubmit: () => Promise<unknown>
  readonly children?: ComponentChildren
  readonly isDangerous?: boolean
  readonly isDisabled?: boolean
}

/** A form that waits for its call, and shows why it was refused. */
export function Form({ submit, onSubmit, children, isDangerous = false, isDisabled = false }: FormProps) {
  const { problem, isWaiting, run } = useAction(onSubmit)
  const place = useRef<HTMLFormElement>(null)
  // Before the dialog opens: its focus goes to the first field instead of the button that closes it.
  useLayoutEffect(() => {
    place.current?.closest('dialog')?.querySelector('.form :is(input, select, textarea)')?.setAttribute('autofocus', '')
  }, [])
  return (
    <form
      ref={place}
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        void run()
      }}
    >
      {children}
      {problem !== null && <Refusal problem={problem} />}
      <p>
        <button type="submit" class={isDangerous ? 'danger' : 'main'} disabled={isWaiting || isDisabled}>
          {submit}
        </button>
      </p>
    </form>
  )
}

export function Refusal({ problem: { detail, requestId } }: { readonly problem: Problem }) {
  return (
    <p class="notice" role="alert">
      {detail}{' '}
      {requestId !== '' && (
        <span class="quiet">
          {texts.states.request} <code>{requestId}</code>
        </span>
      )}
    </p>
  )
}

interface ButtonProps {
  readonly label: string
  readonly onClick: () => Promise<unknown>
  readonly isMain?: boolean
  readonly isDisabled?: boolean
}

/** A button that waits for its call, and shows why it was refused. */
export function ActionButton({ label, onClick, isMain = false, isDisabled = false }: ButtonProps) {
  const { problem, isWaiting, run } = useAction(onClick)
  const place = useRef<HTMLSpanElement>(null)
  // A button that is disabled while it waits loses the focus.
  const act = async (): Promise<void> => {
    await run()
    keepFocus(place.current)
  }
  return (
    <span ref={place} class="action">
      <button type="button" class={isMain ? 'main' : ''} disabled={isWaiting || isDisabled} onClick={() => void act()}>
        {label}
      </button>
      {problem !== null && <Refusal problem={problem} />}
    </span>
  )
}

/** Moves the focus to the button of a place if only the page or its view has it. */
export function keepFocus(place: HTMLElement | null): void {
  requestAnimationFrame(() => {
    if (document.activeElement?.matches('body, #view')) place?.querySelector('button')?.focus()
  })
}

interface OpenerProps {
  /** The address opens the dialog with `?open=` and this name. */
  readonly name?: string
  readonly label: string
  readonly title?: string
  readonly isMain?: boolean
  readonly isDangerous?: boolean
  readonly isWide?: boolean
  readonly children: (close: () => void) => ComponentChildren
}

/** A button that opens a dialog. */
export function DialogButton(props: OpenerProps) {
  const { name, label, title = label, isMain, isDangerous, isWide = false, children } = props
  const [isOpen, setOpen] = useState(false)
  const isNamed = name !== undefined && query.value.get('open') === name
  useEffect(() => {
    if (isNamed) setOpen(true)
  }, [isNamed])
  const close = (): void => {
    setOpen(false)
    if (isNamed) setQuery({ open: '' })
  }
  const look = isDangerous === true ? 'danger-quiet' : isMain === true ? 'main' : ''
  return (
    <>
      <button type="button" class={look} aria-haspopup="dialog" onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && (
        <Dialog title={title} onClose={close} isWide={isWide}>
          {children(close)}
        </Dialog>
      )}
    </>
  )
}

interface ConfirmProps {
  /** "Revoke credential". */
  readonly label: string
  /** Names the object and the consequence: "Calls with this key will be refused from now on." */
  readonly consequence: ComponentChildren
  readonly onConfirm: () => Promise<unknown>
}

/** For what cannot be undone. */
export function ConfirmButton({ label, consequence, onConfirm }: ConfirmProps) {
  return (
    <DialogButton label={label} isDangerous>
      {(close) => (
        <Form submit={label} isDangerous onSubmit={async () => onConfirm().then(close)}>
          <p>{consequence}</p>
        </Form>
      )}
    </DialogButton>
  )
}

interface Action {
  readonly problem: Problem | null
  readonly isWaiting: boolean
  readonly run: () => Promise<void>
}

export function useAction(act: () => Promise<unknown>): Action {
  const [problem, setProblem] = useState<Problem | null>(null)
  const [isWaiting, setWaiting] = useState(false)
  const run = async (): Promise<void> => {
    setWaiting(true)
    setProblem(null)
    try {
      await act()
    } catch (cause) {
      if (!(cause instanceof CallRefused)) throw cause
      setProblem(cause.problem)
    } finally {
      setWaiting(false)
    }
  }
  return { problem, isWaiting, run }
}
