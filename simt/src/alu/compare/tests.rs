mod reference;
mod values;
