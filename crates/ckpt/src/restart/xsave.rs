//! The registers of threads, on a machine whose CPUs keep them in another form than those of the run
//! (crates/image/src/xsave.rs). They are in the kernel's frames on the threads' stacks: the one of the
//! freeze, and those of signals whose handlers the program was executing.

use crate::image::xsave::{self, Form};
use crate::image::{Context, Description, Map};

/// So much of a stack is looked at.
const MOST: usize = 1 << 20;
/// Frames begin at multiples of this.
const ALIGNED: usize = 64;

/// With the program's memory put back: brings all frames to this machine's form.
pub fn adapt(contexts: &[Context], about: &Description) -> Result<(), String> {
    let (from, to) = (&about.registers, &xsave::here());
    // Checkpoints of before it was noted were only gone on from where the features are the same.
    if from == to || *from == Form::default() {
        return Ok(());
    }
    for c in contexts {
        let stack: Option<&Map> = about.maps.iter().find(|m| m.start <= c.context && c.context < m.end);
        let Some(stack) = stack.filter(|m| m.prot & libc::PROT_WRITE != 0) else {
            return Err("a thread's stack is not to be found".into());
        };
        let end = stack.end.min(c.context + MOST);
        let first = c.context.next_multiple_of(ALIGNED);
        let mut frames = 0;
        for at in (first..end).step_by(ALIGNED) {
            // SAFETY: the thread's stack, which nobody else uses: it was put back, and the thread waits.
            let memory = unsafe { core::slice::from_raw_parts_mut(at as *mut u8, end - at) };
            let Some(len) = xsave::frame(memory) else { continue };
            frames += 1;
            xsave::convert(&mut memory[..len], from, to)
                .map_err(|what| format!("a thread's registers cannot be had here: they need {what}"))?;
        }
        if frames == 0 {
            return Err("the registers of a thread are not to be found".into());
        }
    }
    Ok(())
}
